/** Folders that somebody else may write to: promise 12 of the port. */
import { assertEqual, assertThrows } from "./expect.ts";
import type { HostCase } from "./host-subject.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

export const belowCases: HostCase[] = [
  {
    promise: 12,
    name: "what is below a guarded folder is read and changed as elsewhere",
    async run({ host, folder }) {
      host.files.makeDirectory(`${folder}/home`, {});
      const files = host.files.below(`${folder}/home`);
      assertEqual(files.stat(`${folder}/home`)?.kind, "directory", "the folder itself");
      files.makeDirectory(`${folder}/home/sub`, { mode: 0o755 });
      files.writeFile(`${folder}/home/sub/file`, bytes("abc"), { mode: 0o600 });
      files.makeSymlink(`${folder}/home/sub/link`, "file");
      await files.setAttributes(`${folder}/home/sub/file`, { mode: 0o640 });
      assertEqual(files.stat(`${folder}/home/sub/file`)?.mode, 0o640, "mode");
      assertEqual(new TextDecoder().decode(files.readFile(`${folder}/home/sub/file`)), "abc", "content");
      assertEqual(files.compareFile(`${folder}/home/sub/file`, bytes("abc")).same, true, "comparison");
      assertEqual(files.compareFile(`${folder}/home/sub/none`, bytes("abc")).stat, null, "nothing there");
      assertEqual(files.readLink(`${folder}/home/sub/link`), "file", "link");
      assertEqual(files.list(`${folder}/home/sub`), ["file", "link"], "names");
      for (const name of ["file", "link"]) files.removeFile(`${folder}/home/sub/${name}`);
      files.removeDirectory(`${folder}/home/sub`);
      assertEqual(files.list(`${folder}/home`), [], "nothing is left");
      await host.barrier();
    },
  },
  {
    promise: 12,
    name: "a link below a guarded folder leads nowhere",
    run({ host, folder }) {
      host.files.makeDirectory(`${folder}/home`, {});
      host.files.makeDirectory(`${folder}/target`, {});
      host.files.writeFile(`${folder}/target/file`, bytes("theirs"), {});
      host.files.makeSymlink(`${folder}/home/link`, `${folder}/target`);
      const files = host.files.below(`${folder}/home`);
      const inner = files.below(`${folder}/home/link`);
      const path = `${folder}/home/link/file`;
      for (const act of [
        () => files.stat(path),
        () => files.readFile(path),
        () => files.hashFile(path),
        () => files.compareFile(path, bytes("")),
        () => files.list(`${path}/sub`),
        () => files.writeFile(path, bytes(""), {}),
        () => files.makeDirectory(`${folder}/home/link/sub`, {}),
        () => files.makeSymlink(path, "x"),
        () => files.setAttributes(path, { mode: 0o777 }),
        () => files.removeFile(path),
        () => inner.readFile(path),
      ]) {
        assertEqual(assertThrows(act, "HOST_ERROR")["errno"], "ELOOP", "errno");
      }
      assertEqual(host.files.list(`${folder}/target`), ["file"], "names");
      assertEqual(
        new TextDecoder().decode(host.files.readFile(`${folder}/target/file`)),
        "theirs",
        "content",
      );
    },
  },
  {
    promise: 12,
    name: "a guarded folder knows nothing outside itself",
    run({ host, folder }) {
      host.files.makeDirectory(`${folder}/home`, {});
      const files = host.files.below(`${folder}/home`);
      for (const path of [`${folder}/other`, `${folder}/home/../other`, `${folder}/homes`]) {
        assertThrows(() => files.writeFile(path, bytes(""), {}), "PATH_OUTSIDE_ROOT");
      }
    },
  },
  {
    promise: 12,
    name: "a copy is neither taken nor put back through a link below a guarded folder",
    async run({ host, folder }) {
      host.files.makeDirectory(`${folder}/home`, {});
      host.files.makeDirectory(`${folder}/target`, {});
      host.files.writeFile(`${folder}/target/file`, bytes("theirs"), {});
      const { sha256 } = await host.backups.save(`${folder}/target/file`);
      host.files.makeSymlink(`${folder}/home/link`, `${folder}/target`);
      const backups = host.backups.below(`${folder}/home`);
      const path = `${folder}/home/link/file`;
      for (const act of [() => backups.save(path), () => backups.restore(sha256, `${path}s`, {})]) {
        assertEqual(assertThrows(act, "HOST_ERROR")["errno"], "ELOOP", "errno");
      }
      assertEqual(host.files.list(`${folder}/target`), ["file"], "names");
    },
  },
  {
    promise: 14,
    name: "a file that took the place of the one that was seen is neither read nor kept",
    run({ host, folder }) {
      const path = `${folder}/file`;
      host.files.writeFile(path, bytes("seen"), { mode: 0o600 });
      const seen = host.files.stat(path)!;
      assertEqual(new TextDecoder().decode(host.files.readFile(path, seen)), "seen", "content");
      host.files.removeFile(path);
      host.files.writeFile(path, bytes("another"), { mode: 0o600 });
      for (const act of [
        () => host.files.readFile(path, seen),
        () => host.backups.save(path, { expected: seen }),
      ]) {
        assertEqual(assertThrows(act, "HOST_ERROR")["errno"], "ESTALE", "errno");
      }
    },
  },
];
