/** What a file has beside content, mode and owner, on the file system of this machine: given, kept, replaced and taken away. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LocalHost } from "../../lib/host/local-host.ts";
import { aclWithMode } from "../../lib/host/posix-acl.ts";
import { temporaryFolderOnDisk } from "../support/temporary-folder.ts";

const accessAcl = "system.posix_acl_access";
const none = 0xffff_ffff;
const [owner, user, group, mask, other] = [0x01, 0x02, 0x04, 0x10, 0x20];

/** An access list as the kernel has it. */
function aclOf(...entries: [tag: number, bits: number, id?: number][]): Buffer {
  const acl = Buffer.alloc(4 + 8 * entries.length);
  acl.writeUInt32LE(2);
  entries.forEach(([tag, bits, id = none], index) => {
    acl.writeUInt16LE(tag!, 4 + 8 * index);
    acl.writeUInt16LE(bits, 6 + 8 * index);
    acl.writeUInt32LE(id, 8 + 8 * index);
  });
  return acl;
}

test.each([
  [
    "with a mask",
    aclOf([owner!, 6], [user!, 7, 2], [group!, 4], [mask!, 7], [other!, 0]),
    aclOf([owner!, 7], [user!, 7, 2], [group!, 4], [mask!, 5], [other!, 1]),
  ],
  ["without one", aclOf([owner!, 6], [group!, 4], [other!, 0]), aclOf([owner!, 7], [group!, 5], [other!, 1])],
  ["of nothing", aclOf(), aclOf()],
  ["that is cut", aclOf([owner!, 6]).subarray(0, 11), aclOf([owner!, 6]).subarray(0, 11)],
])("an access list %s takes the bits of a mode as chmod has it", (_what, acl, changed) => {
  const before = Buffer.from(acl);
  expect(Buffer.from(aclWithMode(acl, 0o4751))).toEqual(changed);
  expect(acl).toEqual(before);
});

/** A file of a new folder, and what is read of it. */
function file() {
  const folder = temporaryFolderOnDisk();
  const { files } = new LocalHost({ stateFolder: join(folder, "state") });
  const path = join(folder, "file");
  return { files, path, write: (options: object) => files.writeFile(path, Buffer.from("x"), options) };
}

const text = (value: string): string => Buffer.from(value).toString("base64");
const [note, second] = ["user.note", "user.other"];

/** Whether a program of this machine can give a file of this file system what a test is about. */
function canHave(program: string, ...args: string[]): boolean {
  const { path, write } = file();
  write({});
  return spawnSync(program, [...args, path]).status === 0;
}

test("attributes are given, kept by a rewrite, replaced one by one, and taken away", async ({ skip }) => {
  if (!canHave("setfattr", "-n", note!, "-v", "1")) skip("this file system has no attributes");
  const { files, path, write } = file();
  const given = { attributes: { [note]: text("one"), [second]: text("") } };
  write({ mode: 0o640, extras: given });
  expect(files.extras(path)).toEqual(given);
  write({});
  write({ mode: 0o600 });
  expect(files.extras(path)).toEqual(given);
  const changed = { attributes: { [second]: text("two") } };
  await files.setAttributes(path, { extras: changed });
  expect(files.extras(path)).toEqual(changed);
  await files.setAttributes(path, { extras: {} });
  expect(files.extras(path)).toEqual({});
});

test("flags are given, kept by a rewrite, and taken away; others' are left alone", async ({ skip }) => {
  const [nodump, noatime] = [0x40, 0x80];
  if (!canHave("chattr", "+dA")) skip("this file system has no flags");
  const { files, path, write } = file();
  write({ mode: 0o640, extras: { flags: nodump | noatime } });
  expect(files.extras(path)).toEqual({ flags: nodump | noatime });
  write({});
  expect(files.extras(path)).toEqual({ flags: nodump | noatime });
  await files.setAttributes(path, { extras: { flags: noatime } });
  expect(files.extras(path)).toEqual({ flags: noatime });
  await files.setAttributes(path, { extras: {} });
  expect(files.extras(path)).toEqual({});
});

test("an access list is given with the mode that a file is to have, and who was denied stays denied", ({
  skip,
}) => {
  const acl = aclOf([owner!, 6], [user!, 6, 2], [group!, 0], [mask!, 6], [other!, 0]);
  if (!canHave("setfacl", "-m", "u:2:rw")) skip("no access lists");
  const { files, path, write } = file();
  write({ mode: 0o660, extras: { attributes: { [accessAcl]: acl.toString("base64") } } });
  write({ mode: 0o644 });
  const changed = aclOf([owner!, 6], [user!, 6, 2], [group!, 0], [mask!, 4], [other!, 4]);
  expect(files.extras(path)).toEqual({ attributes: { [accessAcl]: changed.toString("base64") } });
  expect(files.stat(path)?.mode).toBe(0o644);
});
