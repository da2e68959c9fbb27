import { generateKeyPairSync } from "node:crypto";
import fs, { readdirSync, statSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import nacl from "tweetnacl";
import { describe, expect, it } from "vitest";
import { createKeyFile, readSigner } from "fleetwright/client/node";
import { limitWrites } from "../../support/small-disk.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe("a key file", () => {
  it("is readable by its owner only and gives the same key each time", () => {
    const path = join(temporaryFolder(), "key");
    const made = createKeyFile(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readSigner(path).publicKey).toBe(made.publicKey);
  });

  it("signs as Ed25519 does elsewhere", async () => {
    const signer = createKeyFile(join(temporaryFolder(), "key"));
    const signature = await signer.sign("täxt");
    const publicKey = Buffer.from(signer.publicKey, "hex");
    expect(nacl.sign.detached.verify(Buffer.from("täxt"), signature, publicKey)).toBe(true);
  });

  it("is never overwritten", () => {
    const path = join(temporaryFolder(), "key");
    const { publicKey } = createKeyFile(path);
    expect(() => createKeyFile(path)).toThrow(expect.objectContaining({ code: "ALREADY_EXISTS" }));
    expect(readSigner(path).publicKey).toBe(publicKey);
  });

  it("is whole on a disk that takes it in pieces", () => {
    const path = join(temporaryFolder(), "key");
    limitWrites({ piece: 50 });
    const { publicKey } = createKeyFile(path);
    expect(readSigner(path).publicKey).toBe(publicKey);
  });

  it("that a full disk keeps from being written is not there, and the next try makes one", () => {
    const folder = temporaryFolder();
    const path = join(folder, "key");
    const { end } = limitWrites({ piece: 50, all: 50 });
    expect(() => createKeyFile(path)).toThrow(expect.objectContaining({ code: "ENOSPC" }));
    end();
    expect(readdirSync(folder)).toEqual([]);
    const { publicKey } = createKeyFile(path);
    expect(readSigner(path).publicKey).toBe(publicKey);
  });

  it("has its name when it is whole and on disk, so that a kill in between leaves none, and on disk is the name, too", () => {
    const folder = temporaryFolder();
    const path = join(folder, "key");
    const steps: string[] = [];
    const { fsyncSync } = fs;
    const noting = (fd: number): void => {
      fsyncSync(fd);
      steps.push(`${fs.fstatSync(fd).isDirectory() ? "folder" : "file"} synced`, `${fs.existsSync(path)}`);
    };
    Object.assign(fs, { fsyncSync: noting });
    syncBuiltinESMExports();
    try {
      createKeyFile(path);
    } finally {
      Object.assign(fs, { fsyncSync });
      syncBuiltinESMExports();
    }
    expect(steps).toEqual(["file synced", "false", "folder synced", "true"]);
    expect(readdirSync(folder)).toEqual(["key"]);
  });

  it("is made where the disk knows no second names, and never over another", () => {
    const path = join(temporaryFolder(), "key");
    const { linkSync } = fs;
    const refusing = (): never => {
      throw Object.assign(new Error("EPERM"), { code: "EPERM" });
    };
    Object.assign(fs, { linkSync: refusing });
    syncBuiltinESMExports();
    try {
      const { publicKey } = createKeyFile(path);
      expect(() => createKeyFile(path)).toThrow(expect.objectContaining({ code: "ALREADY_EXISTS" }));
      expect(readSigner(path).publicKey).toBe(publicKey);
    } finally {
      Object.assign(fs, { linkSync });
      syncBuiltinESMExports();
    }
  });

  it("that can't be made is not said to be there", () => {
    const path = join(temporaryFolder(), "missing", "key");
    expect(() => createKeyFile(path)).toThrow(expect.objectContaining({ code: "ENOENT" }));
  });

  it.each([
    ["no file", null],
    ["no key", "hello"],
    [
      "a key of another kind",
      generateKeyPairSync("x25519").privateKey.export({ format: "pem", type: "pkcs8" }),
    ],
  ])("is refused where there is %s", (_, content) => {
    const path = join(temporaryFolder(), "key");
    if (content !== null) writeFileSync(path, content);
    expect(() => readSigner(path)).toThrow(expect.objectContaining({ code: "CONFIGURATION_INVALID" }));
  });
});
