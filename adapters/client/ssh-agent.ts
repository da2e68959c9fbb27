/** Signing with a key that `ssh-agent` holds: the private half never leaves it. */
import { connect } from "node:net";
import { OrchestratorError } from "fleetwright/errors";
import { isSignature } from "./node-signature.ts";
import type { OperatorSigner } from "./signer.ts";
import { readPublicKey, SshParts, toSshBytes } from "./ssh-key.ts";

/** As long as a challenge lives: somebody may have to touch or to confirm something. */
const waitMs = 60_000;
const longestAnswer = 262_144;

const ask = { identities: 11, sign: 13 } as const;
const told = { identities: 12, signature: 14 } as const;

/**
 * The Ed25519 keys that an agent holds, hex.
 *
 * @param socket - Path of its socket, as `SSH_AUTH_SOCK` has it.
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` where no agent answers there.
 */
export async function listAgentKeys(socket: string): Promise<string[]> {
  return (await blobsOf(socket)).map(({ publicKey }) => publicKey);
}

/**
 * A signer whose key an agent holds. Nothing is asked of it, nor where it is, before something is to be signed.
 *
 * @param socketOf - Tells the path of its socket, as `SSH_AUTH_SOCK` has it.
 * @param publicKey - Hex.
 */
export function agentSigner(socketOf: () => string, publicKey: string): OperatorSigner {
  return {
    publicKey,
    async sign(message) {
      const socket = socketOf();
      const found = (await blobsOf(socket)).find((each) => each.publicKey === publicKey);
      if (!found) throw refused(`ssh-agent does not hold the key ${publicKey}; \`ssh-add\` gives it one.`);
      const request = [toSshBytes(found.blob), toSshBytes(Buffer.from(message, "utf8")), Buffer.alloc(4)];
      const answer = await call(socket, Buffer.concat([Buffer.of(ask.sign), ...request]));
      if (answer[0] !== told.signature) throw refused("ssh-agent does not sign with that key.");
      return readSignature(answer.subarray(1));
    },
    verify: isSignature,
  };
}

async function blobsOf(socket: string): Promise<{ blob: Buffer; publicKey: string }[]> {
  const answer = await call(socket, Buffer.of(ask.identities));
  if (answer[0] !== told.identities) throw refused("ssh-agent does not tell which keys it holds.");
  const found: { blob: Buffer; publicKey: string }[] = [];
  try {
    const parts = new SshParts(answer.subarray(1));
    for (let left = parts.number(); left > 0; left -= 1) {
      const blob = parts.bytes();
      parts.bytes();
      // Keys of other kinds are of no use here.
      if (new SshParts(blob).text() === "ssh-ed25519")
        found.push({ blob, publicKey: readPublicKey(blob).toString("hex") });
    }
  } catch (cause) {
    throw refused("ssh-agent answers what nobody understands.", cause);
  }
  return found;
}

function readSignature(bytes: Buffer): Uint8Array {
  try {
    const parts = new SshParts(new SshParts(bytes).bytes());
    const [type, signature] = [parts.text(), parts.bytes()];
    if (type === "ssh-ed25519" && signature.length === 64) return Uint8Array.from(signature);
  } catch {
    // Said below.
  }
  throw refused("ssh-agent answers with no Ed25519 signature.");
}

/** One question and its answer, without their lengths. */
function call(path: string, request: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    let answer = Buffer.alloc(0);
    const fail = (cause?: unknown): void => {
      socket.destroy();
      const { code } = (cause ?? {}) as NodeJS.ErrnoException;
      reject(refused(`No ssh-agent answers at ${path}${code === undefined ? "" : ` (${code})`}.`, cause));
    };
    socket.setTimeout(waitMs, fail);
    socket.once("error", fail);
    socket.once("close", () => fail());
    socket.on("data", (piece: Buffer) => {
      answer = Buffer.concat([answer, piece]);
      if (answer.length > longestAnswer) return fail();
      if (answer.length < 4 || answer.length < 4 + answer.readUInt32BE(0)) return;
      resolve(answer.subarray(4, 4 + answer.readUInt32BE(0)));
      socket.destroy();
    });
    socket.write(toSshBytes(request));
  });
}

function refused(message: string, cause?: unknown): OrchestratorError {
  return new OrchestratorError("CONFIGURATION_INVALID", { message, cause });
}
