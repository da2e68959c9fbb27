/** What an ssh-agent may answer, and key files of OpenSSH that are not what they seem. */
import { execFileSync } from "node:child_process";
import { generateKeyPairSync, sign } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { readSigner } from "fleetwright/client/node";
import { agentSigner, listAgentKeys } from "../../../adapters/client/ssh-agent.ts";
import { parseSshKey, SshParts, toSshBytes } from "../../../adapters/client/ssh-key.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const ssh = (...parts: (string | Uint8Array)[]): Buffer =>
  Buffer.concat(parts.map((part) => toSshBytes(Buffer.from(part as string))));
const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

const pairs = [1, 2].map(() => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const key = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url");
  return { privateKey, key, hex: key.toString("hex"), blob: ssh("ssh-ed25519", key) };
});
const [mine, other] = [pairs[0]!, pairs[1]!];

/** Answers as an agent does, in pieces of so many bytes; `signed` makes the answer to a request to sign. */
async function startAgent(
  blobs: readonly Buffer[],
  signed: (text: Buffer, blob: Buffer) => Buffer,
  pieceBytes = 1_000_000,
): Promise<string> {
  const path = join(temporaryFolder(), "agent");
  const server = createServer((socket) => {
    let asked = Buffer.alloc(0);
    socket.on("error", () => {});
    socket.on("data", (piece: Buffer) => {
      asked = Buffer.concat([asked, piece]);
      if (asked.length < 4 || asked.length < 4 + asked.readUInt32BE(0)) return;
      const request = asked.subarray(4);
      const parts = new SshParts(request.subarray(1));
      const list = (): Buffer =>
        Buffer.concat([Buffer.of(12), number(blobs.length), ...blobs.map((each) => ssh(each, "a comment"))]);
      const answer = request[0] === 11 ? list() : signed(...turned(parts.bytes(), parts.bytes()));
      const whole = toSshBytes(answer);
      const send = (at: number): void => {
        if (at >= whole.length) return;
        socket.write(whole.subarray(at, at + pieceBytes), () => setImmediate(send, at + pieceBytes));
      };
      send(0);
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => void server.close());
  return path;
}

const turned = (blob: Buffer, text: Buffer): [Buffer, Buffer] => [text, blob];

/** As an agent signs that holds both keys. */
const signing = (text: Buffer, blob: Buffer): Buffer => {
  const { privateKey } = pairs.find((each) => each.blob.equals(blob))!;
  return Buffer.concat([Buffer.of(14), ssh(ssh("ssh-ed25519", sign(null, text, privateKey)))]);
};

describe("an ssh-agent", () => {
  const strange = [ssh("ssh-rsa", "AQAB", "modulus"), ssh("sk-ssh-ed25519@openssh.com", mine.key, "ssh:")];

  test.each([1, 3, 7, 1_000_000])(
    "that answers in pieces of %i bytes, and holds keys of other kinds, signs with the one that was asked for",
    async (pieceBytes) => {
      const blobs = [strange[0]!, other.blob, strange[1]!, mine.blob];
      const path = await startAgent(blobs, signing, pieceBytes);
      expect(await listAgentKeys(path)).toEqual([other.hex, mine.hex]);
      const signer = agentSigner(() => path, mine.hex);
      const signature = await signer.sign("a text with ü");
      expect(Buffer.from(signature)).toEqual(sign(null, Buffer.from("a text with ü"), mine.privateKey));
    },
  );

  test.each<[string, Buffer]>([
    ["refuses", Buffer.of(5)],
    ["answers something else", Buffer.concat([Buffer.of(12), number(0)])],
    ["signs with another kind", Buffer.concat([Buffer.of(14), ssh(ssh("ssh-rsa", Buffer.alloc(64)))])],
    ["signs too shortly", Buffer.concat([Buffer.of(14), ssh(ssh("ssh-ed25519", Buffer.alloc(63)))])],
    ["signs too long", Buffer.concat([Buffer.of(14), ssh(ssh("ssh-ed25519", Buffer.alloc(65)))])],
    ["is cut off in its signature", Buffer.concat([Buffer.of(14), number(99), Buffer.alloc(9)])],
    ["says nothing", Buffer.alloc(0)],
  ])("that %s has not signed", async (_how, answer) => {
    const path = await startAgent([mine.blob], () => answer);
    await expect(agentSigner(() => path, mine.hex).sign("x")).rejects.toMatchObject({
      code: "CONFIGURATION_INVALID",
      message: expect.stringContaining("ssh-agent") as string,
    });
  });

  test("that does not hold the key any more is told so, and asked for nothing else", async () => {
    let signed = 0;
    const path = await startAgent([other.blob], (...asked) => {
      signed += 1;
      return signing(...asked);
    });
    await expect(agentSigner(() => path, mine.hex).sign("x")).rejects.toThrow(
      `ssh-agent does not hold the key ${mine.hex}; \`ssh-add\` gives it one.`,
    );
    expect(signed).toBe(0);
  });

  test("that sends more than any list of keys is left", async () => {
    const path = await startAgent([mine.blob], () => Buffer.alloc(300_000, 14), 65_536);
    await expect(agentSigner(() => path, mine.hex).sign("x")).rejects.toThrow("No ssh-agent answers");
  });
});

/** A key file as `ssh-keygen` makes it, without its armour. */
function make(): Buffer {
  const path = join(temporaryFolder(), "id");
  const args = ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path];
  execFileSync("ssh-keygen", args);
  return Buffer.from(readFileSync(path, "utf8").replaceAll(/-----.*-----|\s/g, ""), "base64");
}

function asFile(text: string): string {
  const path = join(temporaryFolder(), "key");
  writeFileSync(path, text);
  return path;
}

describe("a key file of OpenSSH", () => {
  const asText = (bytes: Buffer): string =>
    `-----BEGIN OPENSSH PRIVATE KEY-----\n${bytes.toString("base64")}\n-----END OPENSSH PRIVATE KEY-----\n`;

  test("is read with the line ends of other systems, and with more behind it than one", () => {
    const text = asText(make());
    const { publicKey } = readSigner(asFile(text));
    for (const other of [text.replaceAll("\n", "\r\n"), `${text}\n\n`, text.trimEnd()])
      expect(readSigner(asFile(other)).publicKey).toBe(publicKey);
  });

  test("of which any byte is another is refused, whichever it is", () => {
    const bytes = make();
    expect(parseSshKey(asText(bytes))?.openPlain()).toBeDefined();
    const read: number[] = [];
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      try {
        parseSshKey(asText(changed))!.openPlain();
        read.push(at);
      } catch {
        // As it should be.
      }
    }
    // But for how a passphrase would have been used, and for the seed, which nothing in the file checks: 32 bytes before the public half.
    const kdf = "openssh-key-v1\0".length + ssh("none").length + 4;
    const seed = bytes.lastIndexOf(publicOf(bytes)) - 32;
    const free = [kdf, kdf + 1, kdf + 2, kdf + 3, ...Array.from({ length: 32 }, (_, at) => seed + at)];
    expect(read).toEqual(free);
  });

  test("with several keys, or with a passphrase that costs more than a sign-in may, is refused", async () => {
    const bytes = make();
    const several = Buffer.from(bytes);
    // Behind the magic, "none", "none" and no options.
    several.writeUInt32BE(2, 15 + 8 + 8 + 4);
    expect(() => parseSshKey(asText(several))).toThrow("more than one key");
    const sealed = (rounds: number): string => {
      const { length } = new SshParts(bytes.subarray(15 + 8 + 8 + 4 + 4)).bytes();
      const publicPart = bytes.subarray(15 + 8 + 8 + 4 + 4, 15 + 8 + 8 + 4 + 4 + 4 + length);
      const options = Buffer.concat([ssh(Buffer.alloc(16, 7)), number(rounds)]);
      const head = [Buffer.from("openssh-key-v1\0"), ssh("aes256-ctr", "bcrypt", options), number(1)];
      return asText(Buffer.concat([...head, publicPart, ssh(Buffer.alloc(144))]));
    };
    const open = (rounds: number): Promise<unknown> => parseSshKey(sealed(rounds))!.open("words");
    for (const rounds of [0, 2_001, 4_000_000_000])
      await expect(open(rounds)).rejects.toThrow("too many rounds");
    await expect(open(1)).rejects.toThrow("wrong passphrase");
  });
});

/** The public half that a key file names first. */
function publicOf(bytes: Buffer): Buffer {
  const parts = new SshParts(bytes.subarray(15 + 8 + 8 + 4 + 4));
  return new SshParts(parts.bytes().subarray(15)).bytes();
}
