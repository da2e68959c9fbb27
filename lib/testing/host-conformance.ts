/** What every {@link Host} keeps to, as cases for any test runner. */
import type { HostFiles } from "../host/host.ts";
import type { ConformanceCase } from "./conformance.ts";
import { assertEqual, assertThat, assertThrows } from "./expect.ts";
import { belowCases } from "./host-below-cases.ts";
import { downloadCases } from "./host-download-cases.ts";
import { extrasCases } from "./host-extras-cases.ts";
import { ledCases } from "./host-led-cases.ts";
import { ownerCases } from "./host-owner-cases.ts";
import { programCases } from "./host-program-cases.ts";
import type { HostCase, HostUnderTest } from "./host-subject.ts";

/** The cases; each gets a host of its own from `create`. */
export function hostConformance(create: () => HostUnderTest | Promise<HostUnderTest>): ConformanceCase[] {
  return cases.map(({ run, ...rest }) => ({ ...rest, run: async () => run(await create()) }));
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (files: HostFiles, path: string): string => new TextDecoder().decode(files.readFile(path));

const cases: HostCase[] = [
  {
    promise: 1,
    name: "nothing at a path, or below a path that does not exist, is null",
    run({ host: { files }, folder }) {
      assertEqual(files.stat(`${folder}/none`), null, "stat");
      assertEqual(files.stat(`${folder}/none/below`), null, "stat below");
    },
  },
  {
    promise: 1,
    name: "stat tells file, folder and link apart and does not follow the link",
    run({ host: { files }, folder }) {
      files.writeFile(`${folder}/file`, bytes("abc"), {});
      files.makeSymlink(`${folder}/link`, "file");
      const found = ["", "/file", "/link"].map((name) => files.stat(folder + name)?.kind);
      assertEqual(found, ["directory", "file", "symlink"], "kinds");
      assertEqual(files.stat(`${folder}/file`)?.sizeBytes, 3, "size");
    },
  },
  {
    promise: 2,
    name: "a new file is private unless a mode is given",
    run({ host: { files }, folder }) {
      files.writeFile(`${folder}/private`, bytes(""), {});
      files.writeFile(`${folder}/open`, bytes(""), { mode: 0o644 });
      assertEqual(files.stat(`${folder}/private`)?.mode, 0o600, "default mode");
      assertEqual(files.stat(`${folder}/open`)?.mode, 0o644, "given mode");
    },
  },
  {
    promise: 2,
    name: "writing again replaces the whole content and keeps the mode",
    run({ host: { files }, folder }) {
      files.writeFile(`${folder}/file`, bytes("a long content"), { mode: 0o640 });
      files.writeFile(`${folder}/file`, bytes("short"), {});
      assertEqual(textOf(files, `${folder}/file`), "short", "content");
      assertEqual(files.stat(`${folder}/file`)?.mode, 0o640, "mode");
      assertEqual(files.list(folder), ["file"], "nothing else is left in the folder");
    },
  },
  {
    promise: 2,
    name: "writing over a link replaces the link and leaves its target alone",
    run({ host: { files }, folder }) {
      files.writeFile(`${folder}/target`, bytes("old"), {});
      files.makeSymlink(`${folder}/link`, "target");
      files.writeFile(`${folder}/link`, bytes("new"), {});
      assertEqual(files.stat(`${folder}/link`)?.kind, "file", "kind");
      assertEqual(textOf(files, `${folder}/target`), "old", "target");
    },
  },
  {
    promise: 3,
    name: "reading, hashing and comparing agree, also for content larger than a buffer",
    run({ host, folder }) {
      const content = new Uint8Array(200_001).fill(120);
      host.files.writeFile(`${folder}/file`, content, {});
      const digest = { sha256: host.sha256(content), sizeBytes: content.length };
      assertEqual(host.files.hashFile(`${folder}/file`), digest, "hash");
      assertThat(host.files.compareFile(`${folder}/file`, content).same, "the content is the same");
      content[200_000] = 121;
      assertThat(!host.files.compareFile(`${folder}/file`, content).same, "the last byte differs");
      assertThat(!host.files.compareFile(`${folder}/file`, content.subarray(1)).same, "the size differs");
    },
  },
  {
    promise: 3,
    name: "comparing tells what stands where it is no file",
    run({ host: { files }, folder }) {
      files.makeSymlink(`${folder}/link`, "nowhere");
      assertEqual(files.compareFile(`${folder}/none`, bytes("")), { stat: null, same: false }, "nothing");
      assertEqual(files.compareFile(`${folder}/link`, bytes("")).stat?.kind, "symlink", "link");
      assertEqual(files.compareFile(folder, bytes("")).stat?.kind, "directory", "folder");
    },
  },
  {
    promise: 3,
    name: "reading, hashing and listing refuse a link",
    run({ host: { files }, folder }) {
      files.writeFile(`${folder}/file`, bytes("abc"), {});
      files.makeSymlink(`${folder}/link`, "file");
      files.makeSymlink(`${folder}/here`, ".");
      assertThrows(() => files.list(`${folder}/here`), "HOST_ERROR");
      assertThrows(() => files.readFile(`${folder}/link`), "HOST_ERROR");
      assertThrows(() => files.hashFile(`${folder}/link`), "HOST_ERROR");
    },
  },
  {
    promise: 4,
    name: "a folder has the given mode, lists its names sorted, and goes only while empty",
    run({ host: { files }, folder }) {
      const path = `${folder}/sub`;
      files.makeDirectory(path, { mode: 0o750 });
      assertEqual(files.stat(path)?.mode, 0o750, "mode");
      for (const name of ["b", "a", "c"]) files.writeFile(`${path}/${name}`, bytes(""), {});
      assertEqual(files.list(path), ["a", "b", "c"], "names");
      assertEqual(
        assertThrows(() => files.removeDirectory(path), "HOST_ERROR")["errno"],
        "ENOTEMPTY",
        "errno",
      );
      for (const name of files.list(path)) files.removeFile(`${path}/${name}`);
      files.removeDirectory(path);
      assertEqual(files.stat(path), null, "the folder");
    },
  },
  {
    promise: 5,
    name: "a link keeps its target as given and is replaced at once",
    run({ host: { files }, folder }) {
      files.makeSymlink(`${folder}/link`, "../some/where");
      assertEqual(files.readLink(`${folder}/link`), "../some/where", "target");
      files.makeSymlink(`${folder}/link`, "/else");
      assertEqual(files.readLink(`${folder}/link`), "/else", "new target");
      assertEqual(files.list(folder), ["link"], "nothing else is left");
    },
  },
  {
    promise: 6,
    name: "attributes change alone, and not through a link",
    async run({ host: { files }, folder }) {
      files.writeFile(`${folder}/file`, bytes("abc"), { mode: 0o600 });
      files.makeSymlink(`${folder}/link`, "file");
      await files.setAttributes(`${folder}/file`, { mode: 0o4755 });
      assertEqual(files.stat(`${folder}/file`)?.mode, 0o4755, "mode");
      assertEqual(textOf(files, `${folder}/file`), "abc", "content");
      assertThrows(() => files.setAttributes(`${folder}/link`, { mode: 0o600 }), "HOST_ERROR");
    },
  },
  {
    promise: 6,
    name: "a link has an owner of its own, also one that points nowhere",
    async run({ host: { files }, folder }) {
      files.makeSymlink(`${folder}/link`, "nowhere");
      const { uid = -1, gid = -1 } = files.stat(`${folder}/link`) ?? {};
      await files.setAttributes(`${folder}/link`, { uid, gid });
      files.makeSymlink(`${folder}/link`, "elsewhere", { uid, gid });
      const { kind, uid: owner } = files.stat(`${folder}/link`) ?? {};
      assertEqual([kind, owner, files.readLink(`${folder}/link`)], ["symlink", uid, "elsewhere"], "link");
      assertEqual(files.list(folder), ["link"], "nothing else is left");
    },
  },
  {
    promise: 7,
    name: "refusals name the path and the system's error",
    run({ host: { files }, folder }) {
      files.makeDirectory(`${folder}/sub`, {});
      const refusals: [string, () => unknown, string][] = [
        [`${folder}/none`, () => files.readFile(`${folder}/none`), "ENOENT"],
        [`${folder}/none`, () => files.removeFile(`${folder}/none`), "ENOENT"],
        [`${folder}/none/x`, () => files.writeFile(`${folder}/none/x`, bytes(""), {}), "ENOENT"],
        [`${folder}/sub`, () => files.writeFile(`${folder}/sub`, bytes(""), {}), "EISDIR"],
        [`${folder}/sub`, () => files.removeFile(`${folder}/sub`), "EISDIR"],
        [`${folder}/sub`, () => files.makeDirectory(`${folder}/sub`, {}), "EEXIST"],
        [`${folder}/sub`, () => files.makeSymlink(`${folder}/sub`, "x"), "EISDIR"],
      ];
      for (const [path, act, errno] of refusals) {
        assertEqual(assertThrows(act, "HOST_ERROR"), { path, errno }, `refusal with ${errno}`);
      }
      assertEqual(files.list(folder), ["sub"], "nothing is changed");
    },
  },
  {
    promise: 8,
    name: "a backup gives back the same bytes with the mode asked for",
    async run({ host, folder }) {
      host.files.writeFile(`${folder}/file`, bytes("before"), { mode: 0o640 });
      const kept = await host.backups.save(`${folder}/file`);
      assertEqual(kept, { sha256: host.sha256(bytes("before")), sizeBytes: 6 }, "digest");
      assertEqual(await host.backups.save(`${folder}/file`), kept, "saving again");
      assertEqual(new TextDecoder().decode(host.backups.read(kept.sha256)), "before", "the copy");
      host.files.removeFile(`${folder}/file`);
      await host.backups.restore(kept.sha256, `${folder}/file`, { mode: 0o644 });
      assertEqual(textOf(host.files, `${folder}/file`), "before", "content");
      assertEqual(host.files.stat(`${folder}/file`)?.mode, 0o644, "mode");
    },
  },
  {
    promise: 8,
    name: "pruning forgets every backup that is not named",
    async run({ host, folder }) {
      const save = async (text: string): Promise<string> => {
        host.files.writeFile(`${folder}/${text}`, bytes(text), {});
        return (await host.backups.save(`${folder}/${text}`)).sha256;
      };
      const first = await save("one");
      const second = await save("two");
      host.backups.prune(new Set([first]));
      assertEqual(host.backups.sizeBytes(first), 3, "kept");
      assertEqual(host.backups.sizeBytes(second), null, "forgotten");
      assertThrows(() => host.backups.restore(second, `${folder}/x`, {}), "HOST_ERROR");
      assertThrows(() => host.backups.read(second), "HOST_ERROR");
    },
  },
  ...programCases,
  {
    promise: 10,
    name: "the barrier is reached after many changes, also when they are gone again",
    async run({ host, folder }) {
      for (let index = 0; index < 50; index += 1) host.files.writeFile(`${folder}/${index}`, bytes("x"), {});
      host.files.makeDirectory(`${folder}/sub`, {});
      host.files.writeFile(`${folder}/sub/gone`, bytes("x"), {});
      host.files.removeFile(`${folder}/sub/gone`);
      host.files.removeDirectory(`${folder}/sub`);
      await host.barrier();
      await host.barrier();
      assertEqual(host.files.list(folder).length, 50, "files");
    },
  },
  {
    promise: 11,
    needs: "root",
    name: "no path and no link leads out of the root",
    run({ host, folder, outside }) {
      const { files } = host;
      assertThat(outside !== undefined, "a host with a root says what is outside");
      assertEqual(host.isConfined, true, "isConfined");
      files.makeSymlink(`${folder}/out`, outside.target);
      for (const act of [
        () => files.stat(`${folder}/out/file`),
        () => files.readFile(`${folder}/out/file`),
        () => files.compareFile(`${folder}/out/file`, bytes("")),
        () => files.writeFile(`${folder}/out/file`, bytes(""), {}),
        () => files.makeDirectory(`${folder}/out/sub`, {}),
        () => files.makeSymlink(`${folder}/out/link`, "x"),
        () => files.removeFile(`${folder}/out/file`),
      ]) {
        assertEqual(Object.keys(assertThrows(act, "PATH_OUTSIDE_ROOT")), ["path"], "details");
      }
      assertEqual(files.stat(`/../../../..${outside.target}`), null, "dots stay inside");
    },
  },
  ...belowCases,
  ...downloadCases,
  ...extrasCases,
  ...ledCases,
  ...ownerCases,
];
