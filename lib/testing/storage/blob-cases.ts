import assert from "node:assert/strict";
import type { Write } from "../../storage/storage.ts";
import { beforeAndAfterRestart, assertRefused, reopen, testSchema, type StorageCase } from "./subject.ts";

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

/** Promises 9 and 16: blobs. */
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
    name: "an append of nothing makes an empty blob",
    promise: 9,
    async run(subject) {
      assert.equal(await subject.storage.appendBlob("t", bytes(""), 0), 0);
      for await (const reader of beforeAndAfterRestart(subject))
        assert.deepEqual(await reader.readBlob("t"), bytes(""));
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
    name: "a dropped blob is gone, also after a restart, and can be made anew",
    promise: 9,
    async run(subject) {
      await subject.storage.appendBlob("t", bytes("abc"));
      await subject.storage.commit([{ kind: "dropBlob", id: "t" }]);
      await subject.storage.commit([{ kind: "dropBlob", id: "t" }]);
      assert.equal(await subject.storage.readBlob("t"), null);
      const next = await reopen(subject);
      assert.equal(await next.readBlob("t"), null);
      assert.equal(await next.appendBlob("t", bytes("x"), 0), 1);
    },
  },
  {
    name: "a blob that is made anew after a commit dropped it stays, also after a restart",
    promise: 9,
    async run(subject) {
      const drop: Write = { kind: "dropBlob", id: "t" };
      await subject.storage.appendBlob("t", bytes("abc"));
      const dropped = subject.storage.commit([drop]);
      await dropped;
      assert.equal(await subject.storage.appendBlob("t", bytes("new"), 0), 3);
      const next = await reopen(subject);
      assert.deepEqual(await next.readBlob("t"), bytes("new"));
      await next.commit([drop]);
      assert.equal(await next.readBlob("t"), null);
      assert.equal(await next.appendBlob("t", bytes("x"), 0), 1);
    },
  },
  {
    name: "a commit that is rejected drops nothing, one that is not drops all",
    promise: 9,
    async run(subject) {
      const { storage } = subject;
      for (const id of ["a", "b"]) await storage.appendBlob(id, bytes(id));
      const drops: Write[] = [
        { kind: "dropBlob", id: "a" },
        { kind: "dropBlob", id: "b" },
        { kind: "put", collection: "agents", key: "k", value: {}, expected: 0 },
      ];
      await storage.commit([{ kind: "put", collection: "agents", key: "k", value: {} }]);
      await assertRefused(storage.commit(drops), "REVISION_CONFLICT");
      const next = await reopen(subject);
      for (const id of ["a", "b"]) assert.deepEqual(await next.readBlob(id), bytes(id));
      const changes: unknown[] = [];
      next.follow((told) => changes.push(...told.map(({ kind }) => kind)));
      const put: Write = { kind: "put", collection: "agents", key: "k", value: {} };
      assert.deepEqual(await next.commit([...drops.slice(0, 2), put]), {
        revisions: [0, 0, 2],
        sequences: [0, 0, 0],
      });
      assert.deepEqual(changes, ["put"]);
      for (const id of ["a", "b"]) assert.equal(await next.readBlob(id), null);
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
  {
    name: "what a writer appends is read at once and in order, also after a restart",
    promise: 16,
    async run(subject) {
      const { storage } = subject;
      await storage.appendBlob("t", bytes("one "));
      const writer = await storage.openBlob("t");
      assert.equal(writer.size, 4);
      await Promise.all(["two ", "three ", "four"].map((text) => writer.append(bytes(text))));
      assert.equal(writer.size, 18);
      assert.deepEqual(await storage.readBlob("t"), bytes("one two three four"));
      await writer.sync();
      await writer.append(bytes("."));
      await writer.close();
      await writer.close();
      await assertRefused(writer.append(bytes("x")), "STORAGE_CLOSED");
      assert.equal(await storage.appendBlob("t", bytes("!"), 19), 20);
      for await (const reader of beforeAndAfterRestart(subject)) {
        assert.deepEqual(await reader.readBlob("t"), bytes("one two three four.!"));
      }
    },
  },
  {
    name: "what a writer appended is there after a kill, synced or not",
    promise: 16,
    needs: "crash",
    async run({ storage, crash }) {
      assert.ok(crash);
      const writer = await storage.openBlob("t");
      await writer.append(bytes("synced "));
      await writer.sync();
      await writer.append(bytes("not"));
      const left = await crash();
      await left.open(testSchema);
      assert.deepEqual(await left.readBlob("t"), bytes("synced not"));
      assert.equal(await left.appendBlob("t", bytes("."), 10), 11);
    },
  },
  {
    name: "a blob has one writer at a time, and closing the storage closes it",
    promise: 16,
    async run(subject) {
      const { storage } = subject;
      const writer = await storage.openBlob("new");
      assert.deepEqual(await storage.readBlob("new"), bytes(""));
      await assertRefused(storage.openBlob("new"), "REVISION_CONFLICT");
      await assertRefused(storage.appendBlob("new", bytes("x")), "REVISION_CONFLICT");
      await writer.close();
      const second = await storage.openBlob("new");
      await second.append(bytes("abc"));
      const next = await reopen(subject);
      await assertRefused(second.append(bytes("x")), "STORAGE_CLOSED");
      await assertRefused(second.sync(), "STORAGE_CLOSED");
      assert.deepEqual(await next.readBlob("new"), bytes("abc"));
    },
  },
  {
    name: "a blob that was dropped is made anew by a writer",
    promise: 16,
    async run(subject) {
      const { storage } = subject;
      await storage.appendBlob("t", bytes("before"));
      await storage.commit([{ kind: "dropBlob", id: "t" }]);
      const writer = await storage.openBlob("t");
      await writer.append(bytes("anew"));
      await writer.close();
      for await (const reader of beforeAndAfterRestart(subject))
        assert.deepEqual(await reader.readBlob("t"), bytes("anew"));
    },
  },
  {
    name: "a writer that finds no space adds nothing, and goes on when there is some",
    promise: 16,
    needs: "fill",
    async run({ storage, setFull }) {
      assert.ok(setFull);
      const writer = await storage.openBlob("t");
      await writer.append(bytes("abc"));
      setFull(true);
      await assertRefused(writer.append(bytes("def")), "STORAGE_FULL");
      assert.equal(writer.size, 3);
      assert.deepEqual(await storage.readBlob("t"), bytes("abc"));
      setFull(false);
      await writer.append(bytes("ghi"));
      assert.deepEqual(await storage.readBlob("t"), bytes("abcghi"));
    },
  },
];
