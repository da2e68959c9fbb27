/** What becomes of the bits beside those of reading, writing and running when something gets a mode, an owner or both. */
import type { FileAttributes } from "../host/host.ts";
import { assertEqual } from "./expect.ts";
import type { HostCase, HostUnderTest } from "./host-subject.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const [uid, gid] = [65_533, 65_534];
const modes = [0o4755, 0o2755, 0o6711, 0o1666, 0o7777];

/** Ways to give a file that stands there mode and owner. */
const ways: readonly [
  what: string,
  give: (given: HostUnderTest, path: string, attributes: FileAttributes) => unknown,
][] = [
  ["attributes", ({ host }, path, attributes) => host.files.setAttributes(path, attributes)],
  ["write", ({ host }, path, attributes) => host.files.writeFile(path, bytes("new"), attributes)],
  [
    "restore",
    async ({ host: { backups } }, path, attributes) => {
      const { sha256 } = await backups.save(path);
      return backups.restore(sha256, path, attributes);
    },
  ],
];

function standing({ host }: HostUnderTest, path: string): unknown {
  const { mode = 0, uid: user, gid: group } = host.files.stat(path) ?? {};
  return { mode: mode.toString(8), uid: user, gid: group };
}

const stands = (mode: number, owner: { uid: number; gid: number }): unknown => ({
  mode: mode.toString(8),
  ...owner,
});

/** Makes a file of root's with each mode, and gives it something in each way. */
async function eachWay(
  given: HostUnderTest,
  attributesOf: (mode: number) => FileAttributes,
  wanted: (mode: number) => unknown,
): Promise<void> {
  for (const [what, give] of ways)
    for (const mode of modes) {
      const path = `${given.folder}/${what}-${mode.toString(8)}`;
      given.host.files.writeFile(path, bytes("old"), { mode, uid: 0, gid: 0 });
      await give(given, path, attributesOf(mode));
      assertEqual(standing(given, path), wanted(mode), `${what} of mode ${mode.toString(8)}`);
    }
}

export const ownerCases: HostCase[] = [
  {
    promise: 6,
    needs: "owners",
    name: "a mode and an owner that are given together both stand, set-id and sticky bits among them",
    run: (given) =>
      eachWay(
        given,
        (mode) => ({ mode, uid, gid }),
        (mode) => stands(mode, { uid, gid }),
      ),
  },
  {
    promise: 6,
    needs: "owners",
    name: "set-id and sticky bits stay where nothing is given, and where the owner is the one that it has",
    async run(given) {
      const kept = (mode: number): unknown => stands(mode, { uid: 0, gid: 0 });
      await eachWay(given, () => ({}), kept);
      await eachWay(given, () => ({ uid: 0, gid: 0 }), kept);
    },
  },
  {
    promise: 6,
    needs: "owners",
    name: "a file that gets another owner or group runs as that one only where the mode says so",
    async run(given) {
      const plain = (mode: number): number => mode & 0o1777;
      await eachWay(
        given,
        () => ({ uid, gid }),
        (mode) => stands(plain(mode), { uid, gid }),
      );
      await eachWay(
        given,
        () => ({ gid }),
        (mode) => stands(plain(mode), { uid: 0, gid }),
      );
      await eachWay(
        given,
        () => ({ uid }),
        (mode) => stands(plain(mode), { uid, gid: 0 }),
      );
    },
  },
  {
    promise: 6,
    needs: "owners",
    name: "a folder keeps its bits with another owner, and is made with all that are given",
    async run(given) {
      const { host, folder } = given;
      for (const mode of modes) {
        const [path, made] = [`${folder}/${mode.toString(8)}`, `${folder}/made-${mode.toString(8)}`];
        host.files.makeDirectory(path, { mode, uid: 0, gid: 0 });
        await host.files.setAttributes(path, { uid, gid });
        host.files.makeDirectory(made, { mode, uid, gid });
        for (const each of [path, made])
          assertEqual(standing(given, each), stands(mode, { uid, gid }), `folder ${each}`);
      }
    },
  },
  {
    promise: 13,
    needs: "owners",
    name: "a download keeps or gives mode and owner as a write does",
    async run(given) {
      const { host, folder, urls } = given;
      const { signal } = new AbortController();
      const rows: [attributes: FileAttributes, mode: number, owner: { uid: number; gid: number }][] = [
        [{}, 0o4755, { uid: 0, gid: 0 }],
        [{ uid, gid }, 0o755, { uid, gid }],
        [{ mode: 0o6711, uid, gid }, 0o6711, { uid, gid }],
      ];
      for (const [at, [attributes, mode, owner]] of rows.entries()) {
        const path = `${folder}/${at}`;
        host.files.writeFile(path, bytes("old"), { mode: 0o4755, uid: 0, gid: 0 });
        await host.download({ url: urls.hello, path, sha256: hello, attributes }, signal);
        assertEqual(standing(given, path), stands(mode, owner), JSON.stringify(attributes));
      }
    },
  },
];
