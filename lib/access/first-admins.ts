/** How the first Admin comes to be. */
import type { Context } from "../context.ts";
import type { Crypto } from "../crypto/crypto.ts";
import { type CheckedPublicKey, parsePublicKey } from "../crypto/parse-public-key.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { personNameSchema } from "../internal/common-schemas.ts";
import type { OperatorRegistry } from "./operator-registry.ts";
import type { Operators } from "./operators.ts";

/** How often it is tried where others start, too: each that comes in between has made an Admin or taken a name. */
const attempts = 10;

/** Makes the keys of the option `adminPublicKeys` Admin where they are not known yet. Who is known keeps their role: an Admin may have lowered it. */
export async function ensureAdmins(
  context: Context,
  { registry, operators }: { registry: OperatorRegistry; operators: Operators },
): Promise<void> {
  // All of them before the first is made Admin.
  const admins = context.options.adminPublicKeys.map((given, at) => {
    const admin = typeof given === "string" ? { public_key: given } : given;
    return { admin, key: keyOf(admin.public_key, { at, crypto: context.crypto }) };
  });
  for (const { admin, key } of admins) {
    // Another process that starts at once may have made it, or taken its name for another.
    let known = await registry.find(key.id);
    if (known && known.value.role !== "Admin") {
      const { username, role } = known.value;
      context.logger.warn("An operator whose key is to be an Admin's has another role, and keeps it.", {
        username,
        role,
      });
    }
    for (let left = attempts; !known; left -= 1) {
      const username = (await freeName(context, admin.username)) ?? `admin-${key.id.slice(0, 8)}`;
      try {
        await operators.add(context.starter, { username, public_key: key.hex, role: "Admin" });
      } catch (error) {
        if (!isOrchestratorError(error, "ALREADY_EXISTS") || left === 1) throw error;
      }
      known = await registry.find(key.id);
    }
  }
}

/** Says which of them can't be used: a list may be long. */
function keyOf(given: string, { at, crypto }: { at: number; crypto: Crypto }): CheckedPublicKey {
  try {
    return parsePublicKey(given, crypto);
  } catch (cause) {
    if (!isOrchestratorError(cause, "KEY_REFUSED")) throw cause;
    const issues = cause.issues.map(({ message }) => ({ path: ["adminPublicKeys", at], message }));
    throw new OrchestratorError("KEY_REFUSED", { issues, cause });
  }
}

/** A wanted name, where it can be had: for want of a name nobody is kept out of a server that is his. */
async function freeName({ storage }: Context, wanted: string | undefined): Promise<string | null> {
  const { success, data } = personNameSchema.safeParse(wanted);
  if (!success) return null;
  return (await storage.get("operator_names", data.toLowerCase())) ? null : data;
}
