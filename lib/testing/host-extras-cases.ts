/** The promises about what a file has beside content, mode and owner, as cases. */
import type { FileExtras, HostFiles } from "../host/host.ts";
import { assertEqual, assertThat, assertThrows } from "./expect.ts";
import type { HostCase } from "./host-subject.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (files: HostFiles, path: string): string => new TextDecoder().decode(files.readFile(path));

const note: FileExtras = { attributes: { "user.note": "aGVsbG8=" } };
const aclName = "system.posix_acl_access";

/** An ACL: user::rw-, user:1:rw-, group::---, mask::rw-, other::---; the kernel shows it as mode 0660. */
const acl: FileExtras = {
  attributes: { [aclName]: "AgAAAAEABgD/////AgAGAAEAAAAEAAAA/////xAABgD/////IAAAAP////8=" },
};

/** The permissions of the owning group and of the mask. */
function groupAndMask(files: HostFiles, path: string): [group: number, mask: number] {
  const value = Buffer.from(files.extras(path)?.attributes?.[aclName] ?? "", "base64");
  assertThat(value.length === 44, "it has the five entries of its ACL");
  return [value.readUInt16LE(22), value.readUInt16LE(30)];
}

export const extrasCases: HostCase[] = [
  {
    promise: 15,
    needs: "extras",
    name: "extras stay with a write, a restore, a download and a change of mode and owner",
    async run({ host, folder, urls }) {
      const { files, backups } = host;
      const path = `${folder}/file`;
      const sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
      files.writeFile(path, bytes("one"), { mode: 0o640, extras: note });
      const { uid, gid } = files.stat(path) ?? {};
      assertThat(uid !== undefined && gid !== undefined, "it stands");
      const copy = await backups.save(path);
      const changes: [string, () => unknown][] = [
        ["write", () => files.writeFile(path, bytes("two"), {})],
        ["write with a mode", () => files.writeFile(path, bytes("three"), { mode: 0o600 })],
        ["attributes", () => files.setAttributes(path, { mode: 0o644, uid, gid })],
        ["restore", () => backups.restore(copy.sha256, path, {})],
        [
          "download",
          () =>
            host.download({ url: urls.hello, path, sha256, attributes: {} }, new AbortController().signal),
        ],
      ];
      for (const [what, change] of changes) {
        await change();
        assertEqual(files.extras(path), note, `extras after: ${what}`);
      }
    },
  },
  {
    promise: 15,
    needs: "extras",
    name: "extras that are given are all that a file or folder has; nothing and a link have none",
    async run({ host: { files }, folder }) {
      const [path, inner] = [`${folder}/file`, `${folder}/inner`];
      assertEqual(files.extras(path), null, "nothing");
      files.writeFile(path, bytes("one"), {});
      files.makeDirectory(inner, { extras: note });
      files.makeSymlink(`${folder}/link`, "file");
      assertEqual(
        ["file", "inner", "link"].map((name) => files.extras(`${folder}/${name}`)),
        [{}, note, null],
        "extras",
      );
      await files.setAttributes(path, { extras: note });
      assertEqual(files.extras(path), note, "given to what stands");
      files.writeFile(path, bytes("two"), { extras: {} });
      await files.setAttributes(inner, { extras: {} });
      assertEqual([files.extras(path), files.extras(inner)], [{}, {}], "taken away");
    },
  },
  {
    promise: 15,
    needs: "extras",
    name: "a write and a mode leave the entry of the owning group in an ACL what it was",
    async run({ host: { files }, folder }) {
      const path = `${folder}/file`;
      files.writeFile(path, bytes("one"), { mode: 0o660, extras: acl });
      assertEqual(files.stat(path)?.mode, 0o660, "mode");
      files.writeFile(path, bytes("two"), {});
      assertEqual(groupAndMask(files, path), [0, 6], "after a write");
      files.writeFile(path, bytes("three"), { mode: 0o640 });
      assertEqual([groupAndMask(files, path), files.stat(path)?.mode], [[0, 4], 0o640], "after a mode");
      await files.setAttributes(path, { mode: 0o670 });
      assertEqual([groupAndMask(files, path), files.stat(path)?.mode], [[0, 7], 0o670], "after another");
    },
  },
  {
    promise: 16,
    needs: "links",
    name: "a write reaches the other names of a file where they are to be kept, and no other name else",
    async run({ host: { files, backups }, folder, hardLink }) {
      const [path, other] = [`${folder}/file`, `${folder}/other`];
      assertThat(hardLink !== undefined, "a host with links says how one is made");
      files.writeFile(path, bytes("a long first text"), { mode: 0o640 });
      const copy = await backups.save(path);
      hardLink(path, other);
      assertEqual([files.stat(path)?.links, files.stat(other)?.links], [2, 2], "names");
      files.writeFile(path, bytes("kept"), { keepLinks: true });
      assertEqual([textOf(files, path), textOf(files, other)], ["kept", "kept"], "both");
      await backups.restore(copy.sha256, path, { keepLinks: true, mode: 0o600 });
      assertEqual([textOf(files, other), files.stat(other)?.mode], ["a long first text", 0o600], "restored");
      files.writeFile(path, bytes("alone"), {});
      assertEqual([textOf(files, path), textOf(files, other)], ["alone", "a long first text"], "one");
      assertEqual([files.stat(path)?.links, files.stat(other)?.links], [undefined, undefined], "names after");
      files.writeFile(other, bytes("last"), { keepLinks: true });
      assertEqual(files.list(folder), ["file", "other"], "nothing else is left");
    },
  },
  {
    promise: 17,
    needs: "held",
    name: "what may not be changed is refused, before and when it is tried, and stays as it is",
    run({ host: { files }, folder, setImmutable }) {
      const [path, inner] = [`${folder}/file`, `${folder}/inner`];
      assertThat(setImmutable !== undefined, "a host that can hold files says how");
      files.makeDirectory(inner, {});
      for (const at of [path, `${inner}/file`]) files.writeFile(at, bytes("old"), { mode: 0o640 });
      setImmutable(path, true);
      setImmutable(inner, true);
      try {
        const tries = [
          ["write", path, () => files.writeFile(path, bytes("new"), {})],
          ["write", path, () => files.writeFile(path, bytes("new"), { keepLinks: true })],
          ["attributes", path, () => files.setAttributes(path, { mode: 0o600 })],
          ["replace", path, () => files.removeFile(path)],
          ["replace", path, () => files.makeSymlink(path, "x")],
          ["write", `${inner}/new`, () => files.writeFile(`${inner}/new`, bytes("new"), {})],
          ["write", `${inner}/new`, () => files.makeDirectory(`${inner}/new`, {})],
          ["write", `${inner}/file`, () => files.writeFile(`${inner}/file`, bytes("new"), {})],
          ["replace", `${inner}/file`, () => files.removeFile(`${inner}/file`)],
        ] as const;
        for (const [change, at, act] of tries) {
          const foreseen = assertThrows(() => files.requireChangeable(at, change), "HOST_ERROR");
          assertEqual(foreseen, { path: at, errno: "EPERM" }, `${change} foreseen`);
          assertEqual(assertThrows(act, "HOST_ERROR"), foreseen, change);
        }
        files.requireChangeable(`${inner}/file`, "attributes");
        files.requireChangeable(`${folder}/new`, "write");
      } finally {
        setImmutable(path, false);
        setImmutable(inner, false);
      }
      assertEqual([textOf(files, path), files.stat(path)?.mode], ["old", 0o640], "the file");
      assertEqual([files.list(folder), files.list(inner)], [["file", "inner"], ["file"]], "names");
    },
  },
];
