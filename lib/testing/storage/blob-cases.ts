import assert from "node:assert/strict";
import { beforeAndAfterRestart, assertRefused, reopen, type StorageCase } from "./subject.ts";

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

/** Promise 9: blobs. */
export const blobCases: StorageCase[] = [
  {
    name: "a blob is read back in the order of its appends, also after a restart",
    promise: 9,
    async run(subject) {
      const { storage } = subject;
      const sizes = await Promise.all(
        ["one ", "two ", "three"].map((text) => storage.appendBlob("t", bytes(text))),
      );
      assert.deepEqual(sizes, [4, 8, 13]);
      for await (const reader of beforeAndAfterRestart(subject)) {
        assert.deepEqual(await reader.readBlob("t"), bytes("one two three"));
      }
    },
  },
  {
    name: "a range is cut at the blob's ends",
    promise: 9,
    async run({ storage }) {
      await storage.appendBlob("t", bytes("0123456789"));
      assert.deepEqual(await storage.readBlob("t", { from: 3, to: 6 }), bytes("345"));
      assert.deepEqual(await storage.readBlob("t", { from: 8, to: 100 }), bytes("89"));
      assert.deepEqual(await storage.readBlob("t", { to: 2 }), bytes("01"));
      assert.deepEqual(await storage.readBlob("t", { from: 100 }), bytes(""));
      assert.deepEqual(await storage.readBlob("t", { from: 6, to: 3 }), bytes(""));
      assert.equal(await storage.readBlob("other"), null);
    },
  },
  {
    name: "an append that expects another size is refused and adds nothing",
    promise: 9,
    async run({ storage }) {
      assert.equal(await storage.appendBlob("t", bytes("abc"), 0), 3);
      await assertRefused(storage.appendBlob("t", bytes("def"), 0), "REVISION_CONFLICT");
      await assertRefused(storage.appendBlob("new", bytes("def"), 1), "REVISION_CONFLICT");
      assert.deepEqual(await storage.readBlob("t"), bytes("abc"));
      assert.equal(await storage.readBlob("new"), null);
    },
  },
  {
    name: "a deleted blob is gone, also after a restart, and can be made anew",
    promise: 9,
    async run(subject) {
      await subject.storage.appendBlob("t", bytes("abc"));
      await subject.storage.deleteBlob("t");
      await subject.storage.deleteBlob("t");
      assert.equal(await subject.storage.readBlob("t"), null);
      const next = await reopen(subject);
      assert.equal(await next.readBlob("t"), null);
      assert.equal(await next.appendBlob("t", bytes("x"), 0), 1);
    },
  },
  {
    name: "ids may hold any character and never reach another blob",
    promise: 13,
    async run(subject) {
      const ids = [
        "a/b",
        "../../etc/x",
        "a",
        "A",
        "",
        ".",
        "..",
        "a\u0000b",
        "ü😀",
        "\ud800",
        "\udc00",
        "x".repeat(5_000),
      ];
      for (const [index, id] of ids.entries()) await subject.storage.appendBlob(id, bytes(String(index)), 0);
      const next = await reopen(subject);
      for (const [index, id] of ids.entries())
        assert.deepEqual(await next.readBlob(id), bytes(String(index)));
    },
  },
  {
    name: "a caller that changes its buffer afterwards changes no blob",
    promise: 12,
    async run({ storage }) {
      const buffer = bytes("abc");
      const append = storage.appendBlob("t", buffer);
      buffer.fill(0);
      await append;
      const read = await storage.readBlob("t");
      read?.fill(0);
      assert.deepEqual(await storage.readBlob("t"), bytes("abc"));
    },
  },
];
