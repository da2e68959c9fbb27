import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PinnedOrchestrator, loadIdentity } from "../../lib/agent/identity.ts";
import { toHex } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describe("loadIdentity", () => {
  it("makes keys once and finds them again", () => {
    const context = contextIn(temporaryFolder());
    const first = loadIdentity(context);
    const again = loadIdentity(context);
    expect(again.node_id).toBe(first.node_id);
    expect(again.box).toEqual(first.box);
    const message = new Uint8Array([1, 2, 3]);
    expect(nodeCrypto.verify(first.signer.publicKey, message, again.signer.sign(message))).toBe(true);
    expect(context.logger.lines).toEqual([]);
  });

  it("keeps the keys from other users", () => {
    const context = contextIn(temporaryFolder());
    loadIdentity(context);
    const path = join(context.stateDir, "identity.json");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    chmodSync(path, 0o644);
    loadIdentity(context);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(context.logger.of("warn")).toHaveLength(1);
  });

  it.each<[mode: number, isOpen: boolean]>([
    [0o600, false],
    [0o400, false],
    [0o700, false],
    [0o640, true],
    [0o620, true],
    [0o610, true],
    [0o604, true],
    [0o602, true],
    [0o601, true],
    [0o660, true],
  ])("of keys with mode %o tells that others could use them, and ends that: %j", (mode, isOpen) => {
    const context = contextIn(temporaryFolder());
    loadIdentity(context);
    const path = join(context.stateDir, "identity.json");
    chmodSync(path, mode);
    for (let start = 0; start < 2; start += 1) loadIdentity(context);
    expect(statSync(path).mode & 0o777).toBe(isOpen ? 0o600 : mode);
    expect(context.logger.lines.map(({ fields }) => fields)).toEqual(
      isOpen ? [{ path, mode: mode.toString(8) }] : [],
    );
  });

  it("gives the keys of a version that wrote no checksum one, and then notices damage", () => {
    const context = contextIn(temporaryFolder());
    const { node_id } = loadIdentity(context);
    const path = join(context.stateDir, "identity.json");
    const sealed = readFileSync(path, "utf8");
    const { crc32: _none, ...plain } = JSON.parse(sealed) as Record<string, unknown>;
    writeFileSync(path, JSON.stringify(plain), { mode: 0o600 });
    expect(loadIdentity(context).node_id).toBe(node_id);
    expect(readFileSync(path, "utf8")).toBe(sealed);
    writeFileSync(
      path,
      sealed.replace(
        /("signing_seed":\s*")(.)/,
        (_, name: string, digit: string) => `${name}${digit === "0" ? "1" : "0"}`,
      ),
    );
    expect(() => loadIdentity(context)).toThrow(expect.objectContaining({ code: "STORAGE_CORRUPT" }));
  });

  it("refuses damaged keys, and tells nothing of them", () => {
    const context = contextIn(temporaryFolder());
    loadIdentity(context);
    const path = join(context.stateDir, "identity.json");
    const text = readFileSync(path, "utf8");
    const { signing_seed } = JSON.parse(text) as { signing_seed: string };
    writeFileSync(path, text.slice(0, -10));
    expect(() => loadIdentity(context)).toThrow(expect.objectContaining({ code: "STORAGE_CORRUPT" }));
    expect(() => loadIdentity(context)).not.toThrow(signing_seed);
    expect(readFileSync(path, "utf8")).toBe(text.slice(0, -10));
  });

  it("is not disturbed by what a killed process left behind", () => {
    const context = contextIn(temporaryFolder());
    writeFileSync(join(context.stateDir, "identity.json.new"), "half a fi", { mode: 0o644 });
    loadIdentity(context);
    expect(readdirSync(context.stateDir)).toEqual(["identity.json"]);
    expect(statSync(join(context.stateDir, "identity.json")).mode & 0o777).toBe(0o600);
  });
});

describe("PinnedOrchestrator", () => {
  const keyOf = (): Uint8Array => nodeCrypto.createSigningKeyPair().publicKey;

  it("keeps the first key that is seen and refuses another, also after a restart", async () => {
    const context = contextIn(temporaryFolder());
    const pin = new PinnedOrchestrator(context, undefined);
    expect(pin.get()).toBeNull();
    const key = keyOf();
    await pin.set(key);
    await pin.set(key);
    const restarted = new PinnedOrchestrator(context, undefined);
    expect(restarted.get()).toEqual(key);
    await expect(restarted.set(keyOf())).rejects.toThrow(
      expect.objectContaining({ code: "ORCHESTRATOR_KEY_CHANGED" }),
    );
  });

  it("takes the key that was given at install, and refuses a later different one", () => {
    const context = contextIn(temporaryFolder());
    const key = keyOf();
    expect(new PinnedOrchestrator(context, toHex(key)).get()).toEqual(key);
    expect(() => new PinnedOrchestrator(context, toHex(keyOf()))).toThrow(
      expect.objectContaining({ code: "ORCHESTRATOR_KEY_CHANGED" }),
    );
  });

  it("takes a key in hex, in whichever case, or in base64, as one key", () => {
    const context = contextIn(temporaryFolder());
    const key = keyOf();
    for (const text of [toHex(key).toUpperCase(), Buffer.from(key).toString("base64"), toHex(key)])
      expect(new PinnedOrchestrator(context, text).get()).toEqual(key);
  });

  it.each(["", "zz", "00".repeat(31), "00".repeat(32)])("refuses %j as a key", (text) => {
    const context = contextIn(temporaryFolder());
    expect(() => new PinnedOrchestrator(context, text)).toThrow(
      expect.objectContaining({ code: "KEY_REFUSED" }),
    );
    expect(readdirSync(context.stateDir)).toEqual([]);
  });

  it("obeys nobody whose key could not be written down, and takes the next who is there", async () => {
    const context = contextIn(join(temporaryFolder(), "away"));
    const pin = new PinnedOrchestrator(context, undefined);
    const [first, second] = [keyOf(), keyOf()];
    await expect(pin.set(first)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    expect(pin.get()).toBeNull();
    mkdirSync(context.stateDir);
    await pin.set(second);
    expect(pin.get()).toEqual(second);
    expect(new PinnedOrchestrator(context, undefined).get()).toEqual(second);
  });

  it("gives the file of a version that wrote no checksum one, and then notices damage", () => {
    const context = contextIn(temporaryFolder());
    const path = join(context.stateDir, "orchestrator.key");
    const key = keyOf();
    writeFileSync(path, `${toHex(key)}\n`);
    expect(new PinnedOrchestrator(context, undefined).get()).toEqual(key);
    const text = readFileSync(path, "utf8");
    expect(text).toMatch(new RegExp(`^${toHex(key)} [0-9a-f]{8}\n$`));
    writeFileSync(
      path,
      text.replace(/^./, (digit) => (digit === "0" ? "1" : "0")),
    );
    expect(() => new PinnedOrchestrator(context, undefined)).toThrow(
      expect.objectContaining({ code: "STORAGE_CORRUPT" }),
    );
  });

  it("does not begin anew where its file is damaged", () => {
    const context = contextIn(temporaryFolder());
    writeFileSync(join(context.stateDir, "orchestrator.key"), "abc\n");
    expect(() => new PinnedOrchestrator(context, undefined)).toThrow(
      expect.objectContaining({ code: "STORAGE_CORRUPT" }),
    );
  });
});

function contextIn(stateDir: string): {
  stateDir: string;
  crypto: typeof nodeCrypto;
  logger: RecordingLogger;
} {
  return { stateDir, crypto: nodeCrypto, logger: new RecordingLogger() };
}
