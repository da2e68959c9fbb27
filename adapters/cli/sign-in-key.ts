/** The key that somebody signs in with: a file, or one that ssh-agent holds. */
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { isSignature } from "../client/node-signature.ts";
import { readSigner } from "../client/node-signer.ts";
import type { OperatorSigner } from "../client/signer.ts";
import { agentSigner, listAgentKeys } from "../client/ssh-agent.ts";
import { readPublicLine } from "../client/ssh-key.ts";
import { codeOf } from "../client/system-error.ts";
import type { CommandContext } from "./context.ts";
import { UsageError } from "./failure.ts";
import { readOwnFile } from "./private-file.ts";

/** How a profile names a key that ssh-agent holds; its public half in hex follows. */
const ofAgent = "ssh-agent:";

/**
 * What a profile remembers of the key that `login` was told: the path of a private key, or a key of ssh-agent for `ssh-agent` and for the file
 * of a public key.
 *
 * @throws {UsageError} Where ssh-agent holds none, or several and nobody says which.
 */
export async function toKeyName(context: CommandContext, given: string): Promise<string> {
  if (given.startsWith(ofAgent)) return given;
  if (given !== "ssh-agent") return given.endsWith(".pub") ? toAgentKey(resolve(given)) : resolve(given);
  const keys = await listAgentKeys(socketOf(context));
  const [only] = keys;
  if (only === undefined)
    throw new UsageError("ssh-agent holds no Ed25519 key; `ssh-add FILE` gives it one.");
  if (keys.length > 1)
    throw new UsageError(
      "ssh-agent holds several Ed25519 keys: name one by its public half, as --key ~/.ssh/id_ed25519.pub.",
    );
  return `${ofAgent}${only}`;
}

/**
 * Signs with the key that a profile names; null where the file is gone. A session that lives needs no key: neither the file nor ssh-agent is
 * looked at before something is to be signed.
 */
export function findSigner(context: CommandContext, key: string): OperatorSigner | null {
  if (!key.startsWith(ofAgent) && isGone(key)) return null;
  let opened: OperatorSigner | null = null;
  const open = (): OperatorSigner => (opened ??= openSigner(context, key));
  return {
    get publicKey() {
      return open().publicKey;
    },
    sign: (message) => open().sign(message),
    verify: isSignature,
  };
}

/** One that only can't be reached is there, and is told of where it is needed. */
function isGone(key: string): boolean {
  try {
    return statSync(key, { throwIfNoEntry: false }) === undefined;
  } catch (error) {
    return codeOf(error) === "ENOTDIR";
  }
}

/**
 * The same, for a key that somebody names now.
 *
 * @throws {UsageError} Where its file can't be read.
 */
export function openSigner(context: CommandContext, key: string): OperatorSigner {
  if (key.startsWith(ofAgent)) return agentSigner(() => socketOf(context), key.slice(ofAgent.length));
  readGiven(key, readOwnFile);
  return readSigner(key, { passphrase: () => askPassphrase(context, key) });
}

async function askPassphrase({ askSecret }: CommandContext, key: string): Promise<string | null> {
  if (!askSecret)
    throw new UsageError(
      `${key} needs its passphrase, and there is no terminal to ask for it: give the key to ssh-agent, and \`fleetwright login --key ${key}.pub\`.`,
    );
  return askSecret(`Passphrase of ${key}: `);
}

function socketOf({ environment }: CommandContext): string {
  const { SSH_AUTH_SOCK } = environment;
  if (SSH_AUTH_SOCK) return SSH_AUTH_SOCK;
  throw new UsageError("There is no ssh-agent: SSH_AUTH_SOCK is not set.");
}

/** The line that `ssh-keygen` writes beside a private key: type, key and a comment. */
function toAgentKey(path: string): string {
  const publicKey = readPublicLine(readGiven(path));
  if (publicKey === null) throw new UsageError(`${path} holds no public Ed25519 key of OpenSSH.`);
  return ofAgent + publicKey;
}

function readGiven(path: string, read = (place: string) => readFileSync(place, "utf8")): string {
  try {
    return read(path);
  } catch (error) {
    throw new UsageError(`${path} can't be read (${codeOf(error)}).`);
  }
}
