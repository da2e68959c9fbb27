/** Folders that somebody else can change, and where they lead: promise 18 of the port. */
import type { HostFiles } from "../host/host.ts";
import { assertEqual, assertThrows } from "./expect.ts";
import type { HostCase, HostUnderTest } from "./host-subject.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (files: HostFiles, path: string): string => new TextDecoder().decode(files.readFile(path));

/** Two accounts of no rights. */
const [alice, bob] = [65_533, 65_534];

/** A home of Alice's with a folder, and a folder of root's with a file. */
function prepare({ host: { files }, folder }: HostUnderTest): void {
  files.makeDirectory(`${folder}/home`, { mode: 0o755, uid: alice });
  files.makeDirectory(`${folder}/home/own`, { mode: 0o755, uid: alice });
  files.makeDirectory(`${folder}/root`, { mode: 0o755, uid: 0 });
  files.writeFile(`${folder}/root/file`, bytes("root's"), { mode: 0o600 });
}

const refused = (act: () => unknown): void =>
  assertEqual(assertThrows(act, "HOST_ERROR")["errno"], "ELOOP", "errno");

export const ledCases: HostCase[] = [
  {
    promise: 18,
    needs: "owners",
    name: "a link in a folder of somebody else leads no call to what is root's",
    async run(given) {
      const { host, folder } = given;
      const { files, backups } = host;
      prepare(given);
      files.makeSymlink(`${folder}/home/link`, "../root");
      const path = `${folder}/home/link/file`;
      const { sha256 } = await backups.save(`${folder}/root/file`);
      for (const act of [
        () => files.stat(path),
        () => files.ledBy(path),
        () => files.readFile(path),
        () => files.hashFile(path),
        () => files.compareFile(path, bytes("")),
        () => files.readLink(path),
        () => files.list(path),
        () => files.writeFile(path, bytes(""), {}),
        () => files.makeDirectory(`${path}s`, {}),
        () => files.makeSymlink(`${path}s`, "x"),
        () => files.move(`${folder}/root/file`, `${path}s`),
        () => files.move(path, `${folder}/root/files`),
        () => files.setAttributes(path, { mode: 0o777 }),
        () => files.removeFile(path),
        () => files.removeDirectory(path),
        () => files.below(`${folder}/home/link/sub`).stat(`${folder}/home/link/sub/x`),
        () => backups.save(path),
        () => backups.restore(sha256, `${path}s`, {}),
      ])
        refused(act);
      assertEqual(files.list(`${folder}/root`), ["file"], "names");
      assertEqual(textOf(files, `${folder}/root/file`), "root's", "content");
    },
  },
  {
    promise: 18,
    needs: "owners",
    name: "nor does it lead a download or a program",
    async run(given) {
      const { host, folder, programs, urls } = given;
      prepare(given);
      host.files.makeSymlink(`${folder}/home/link`, "../root");
      const { signal } = new AbortController();
      const errnoOf = (trying: Promise<unknown>): Promise<unknown> =>
        trying.then(
          () => "none",
          (error: { details?: { errno?: unknown } }) => error.details?.errno,
        );
      const [path, sha256] = [`${folder}/home/link/got`, host.sha256(bytes("hello"))];
      const request = { url: urls.hello, path, sha256, attributes: {} };
      assertEqual(await errnoOf(host.download(request, signal)), "ELOOP", "download");
      const argv = [...programs.echo, "%it"] as const;
      const cwd = `${folder}/home/link`;
      assertEqual(
        await errnoOf(host.run({ argv: programs.echo, cwd }, signal)),
        "ELOOP",
        "folder of a program",
      );
      assertEqual(
        await errnoOf(host.run({ argv, opens: { "%it": `${cwd}/file` } }, signal)),
        "ELOOP",
        "path of a program",
      );
      assertEqual(host.files.list(`${folder}/root`), ["file"], "names");
    },
  },
  {
    promise: 18,
    needs: "owners",
    name: "a link to what is the owner's own is followed, and so is any link of root's among folders of root's",
    run(given) {
      const { files } = given.host;
      const { folder } = given;
      prepare(given);
      files.makeSymlink(`${folder}/home/link`, "own");
      files.writeFile(`${folder}/home/link/file`, bytes("x"), {});
      assertEqual(files.list(`${folder}/home/own`), ["file"], "his own");
      files.makeSymlink(`${folder}/alias`, "home");
      assertEqual(files.stat(`${folder}/alias/own/file`)?.kind, "file", "root's");
      assertEqual(files.ledBy(`${folder}/alias/own`), alice, "who leads");
      assertEqual(files.ledBy(`${folder}/root/file`), null, "nobody leads");
    },
  },
  {
    promise: 18,
    needs: "owners",
    name: "a link leads neither to a third, nor on from the owner's own folder to what is not his",
    run(given) {
      const { files } = given.host;
      const { folder } = given;
      prepare(given);
      files.makeDirectory(`${folder}/other`, { mode: 0o755, uid: bob });
      files.makeSymlink(`${folder}/home/other`, "../other");
      refused(() => files.stat(`${folder}/home/other/x`));
      files.makeDirectory(`${folder}/home/own/roots`, { mode: 0o755, uid: 0 });
      files.makeSymlink(`${folder}/home/link`, "own");
      assertEqual(files.stat(`${folder}/home/own/roots/x`), null, "a folder that stands in his own");
      refused(() => files.stat(`${folder}/home/link/roots/x`));
      files.makeSymlink(`${folder}/home/own/up`, "../../root");
      files.makeSymlink(`${folder}/home/twice`, "own/up");
      refused(() => files.stat(`${folder}/home/twice/x`));
    },
  },
  {
    promise: 18,
    needs: "owners",
    name: "a link in a folder of root's that somebody else can move leads to what is root's alone",
    run(given) {
      const { files } = given.host;
      const { folder } = given;
      prepare(given);
      files.makeDirectory(`${folder}/other`, { mode: 0o755, uid: bob });
      files.makeDirectory(`${folder}/home/own/roots`, { mode: 0o755, uid: 0 });
      for (const [name, target] of Object.entries({ root: "root", own: "home/own", other: "other" }))
        files.makeSymlink(`${folder}/home/own/roots/${name}`, `../../../${target}`);
      assertEqual(files.stat(`${folder}/home/own/roots/root/file`)?.kind, "file", "root's");
      refused(() => files.stat(`${folder}/home/own/roots/own/x`));
      refused(() => files.stat(`${folder}/home/own/roots/other/x`));
    },
  },
  {
    promise: 18,
    needs: "owners",
    name: "a folder that others may write to counts as theirs, whosever it is",
    run(given) {
      const { files } = given.host;
      const { folder } = given;
      prepare(given);
      files.makeDirectory(`${folder}/home/other`, { mode: 0o755, uid: bob });
      for (const [name, mode] of [
        ["group", 0o775],
        ["all", 0o777],
        ["sticky", 0o1777],
      ] as const) {
        files.makeDirectory(`${folder}/${name}`, { mode });
        files.makeSymlink(`${folder}/${name}/link`, "../home");
        refused(() => files.stat(`${folder}/${name}/link/own`));
        files.makeDirectory(`${folder}/${name}/sub`, { mode: 0o755 });
        assertEqual(
          files.ledBy(`${folder}/${name}/sub`),
          name === "sticky" ? null : 0,
          `who leads in ${name}`,
        );
      }
    },
  },
  {
    promise: 18,
    needs: "owners",
    name: "a folder that is given away or taken back is treated so at once",
    async run(given) {
      const { files } = given.host;
      const { folder } = given;
      prepare(given);
      files.makeDirectory(`${folder}/sub`, { mode: 0o755 });
      files.makeSymlink(`${folder}/sub/link`, "../root");
      assertEqual(files.stat(`${folder}/sub/link/file`)?.kind, "file", "root's folder");
      await files.setAttributes(`${folder}/sub`, { uid: alice });
      refused(() => files.stat(`${folder}/sub/link/file`));
      await files.setAttributes(`${folder}/sub`, { uid: 0 });
      assertEqual(files.stat(`${folder}/sub/link/file`)?.kind, "file", "root's folder again");
    },
  },
];
