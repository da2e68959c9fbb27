/** What a file has beside content, mode and owner, on this machine: looked at with getfacl, getfattr, lsattr and getcap. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LocalHost } from "../../lib/host/local-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import { dress, look, usual } from "../support/machine/dressed-file.ts";
import { describeOnRealMachine, output } from "../support/machine/real-machine.ts";
import { RealState } from "../support/machine/real-state.ts";

let folder: string;
beforeEach(() => {
  // Others must be able to look into it.
  folder = mkdtempSync(join(tmpdir(), "fleetwright-extras-"));
  chmodSync(folder, 0o755);
});
afterEach(() => {
  spawnSync("chattr", ["-R", "-i", "-a", folder]);
  rmSync(folder, { recursive: true });
});

/** Each type that writes a file, at a path, or with the path that it has below its root. */
const writers: Record<string, { path?: string; wanted: (path: string) => JsonObject }> = {
  file: { wanted: (path) => ({ type: "file", path, content: "new\n" }) },
  "file, validated": {
    wanted: (path) => ({ type: "file", path, content: "new\n", validate: ["/bin/grep", "new", "%"] }),
  },
  line: { wanted: (path) => ({ type: "line", path, line: "new" }) },
  block: { wanted: (path) => ({ type: "block", path, content: "new\n" }) },
  sysctl: {
    // What the kernel has already: only the file changes.
    wanted: (path) => ({
      type: "sysctl",
      key: "kernel.panic",
      value: readFileSync("/proc/sys/kernel/panic", "utf8").trim(),
      path,
    }),
  },
  host_entry: {
    path: "/etc/hosts",
    wanted: () => ({ type: "host_entry", name: "fw-extras.test", ip: "192.0.2.1" }),
  },
  systemd_unit: {
    path: "/etc/systemd/system/fw-extras.service",
    wanted: () => ({
      type: "systemd_unit",
      name: "fw-extras.service",
      content: "[Service]\nExecStart=/bin/true\n",
    }),
  },
  "file that goes": { wanted: (path) => ({ type: "file", path, ensure: "absent" }) },
  "symlink in the place of a file": {
    wanted: (path) => ({ type: "symlink", path, target: "x", force: true }),
  },
  "systemd_unit that goes": {
    path: "/etc/systemd/system/fw-extras.service",
    wanted: () => ({ type: "systemd_unit", name: "fw-extras.service", ensure: "absent" }),
  },
};

const needs = { programs: ["setfacl", "getfattr", "chattr", "setcap", "setpriv", "mount"] };

describeOnRealMachine("extras of files", needs, () => {
  test.each(Object.entries(writers))(
    "%s keeps them, and gives them back",
    async (_what, { path: place, wanted }) => {
      const inRoot = place !== undefined;
      using state = new RealState(inRoot ? { rootFolders: [join(place, "..")] } : {});
      const path = inRoot ? join(state.root, place) : join(folder, "file");
      writeFileSync(path, "# old\n");
      dress(path, usual);
      const before = look(path);
      expect(before).toMatch(/user:2:rw-[^]*group::---[^]*trusted\.note=0x00ff[^]*-d?A[^]*cap_net_raw/);
      const definition = { id: "r", ...wanted(inRoot ? place : path) };
      expect(await state.apply([definition])).toEqual([expect.stringMatching(/^r changed (?!none)/)]);
      if (!/that goes|symlink/.test(_what)) expect(look(path)).toBe(before);
      expect(await state.apply([])).toEqual(["r changed remove"]);
      expect(look(path)).toBe(before);
      expect(readFileSync(path, "utf8")).toBe("# old\n");
    },
  );

  test("a folder that goes comes back with its ACLs, attributes and flags, and so does what a purge took", async () => {
    using state = new RealState();
    const [gone, purged] = [join(folder, "gone"), join(folder, "purged")];
    for (const each of [gone, purged, join(purged, "sub")]) mkdirSync(each);
    for (const each of [join(purged, "file"), join(purged, "sub/inner")]) writeFileSync(each, "old\n");
    for (const each of [gone, join(purged, "sub"), join(purged, "file"), join(purged, "sub/inner")])
      dress(each, usual);
    for (const each of [gone, join(purged, "sub")]) output("setfacl", "-dm", "u:3:rwx,g::r", each);
    // A file without an ACL must not take the default of its folder when it comes back.
    writeFileSync(join(purged, "plain"), "old\n");
    output("setfacl", "-dm", "u:4:rwx", purged);
    const paths = ["gone", "purged", "purged/sub", "purged/file", "purged/sub/inner", "purged/plain"];
    const all = (): string[] => paths.map((each) => look(join(folder, each)));
    const before = all();
    await state.apply([
      { type: "directory", path: gone, ensure: "absent" },
      { type: "directory", path: purged, purge: true },
    ]);
    expect(output("ls", folder, purged)).not.toMatch(/gone|sub|file|plain/);
    expect((await state.apply([])).map((each) => each.split(" ")[1])).toEqual(["changed", "changed"]);
    expect(all()).toEqual(before);
  });

  test("random ACLs, modes, attributes and flags: a rewrite keeps them, a removal gives them back", async () => {
    const letters = fc.constantFrom("---", "r--", "rw-", "r-x", "rwx", "-w-");
    const seeds = fc.record({
      user: letters,
      group: letters,
      owning: letters,
      mask: letters,
      mode: fc.integer({ min: 0, max: 0o7777 }),
      flags: fc.subarray(["d", "A", "S"]).map((each) => each.join("")),
      declared: fc.option(fc.constantFrom("0600", "0640", "0755", "4750", "0000")),
      value: fc.uint8Array({ maxLength: 200 }),
    });
    const path = join(folder, "file");
    const property = fc.asyncProperty(
      seeds,
      async ({ user, group, owning, mask, declared, value, ...rest }) => {
        using state = new RealState();
        rmSync(path, { force: true });
        writeFileSync(path, "old\n");
        dress(path, { ...rest, acl: `u:2:${user},g:5:${group},g::${owning},m::${mask}` });
        output("setfattr", "-n", "user.value", "-v", `0x${Buffer.from(value).toString("hex")}`, path);
        const before = look(path);
        const mode = declared === null ? {} : { mode: declared };
        await state.apply([{ type: "file", path, content: "new\n", ...mode }]);
        if (declared === null) expect(look(path)).toBe(before);
        else expect(statSync(path).mode & 0o7777).toBe(Number.parseInt(declared, 8));
        expect(output("getfacl", "-cnp", path)).toContain(`group::${owning}`);
        expect(await state.apply([])).toEqual([expect.stringContaining(" changed remove")]);
        expect(look(path)).toBe(before);
      },
    );
    await fc.assert(property, { numRuns: 40 });
  });

  test("who was denied is denied at every moment of many rewrites, whatever is inherited", async () => {
    using state = new RealState();
    const path = join(folder, "file");
    writeFileSync(path, "old\n");
    // Group 33 is the owning group, denied by its entry though the mode shows rw-; the default would let everybody in.
    dress(path, { acl: "u:2:rw,g::---,m::rw", mode: 0o660, flags: "" });
    output("setfacl", "-dm", "u:2:rwx,g::rwx,g:33:rwx,o::rwx,m::rwx", folder);
    const watch = `
      const fs = require("node:fs");
      let reads = 0, looks = 0;
      process.on("SIGTERM", () => { console.log(JSON.stringify({ looks, reads })); process.exit(); });
      (function again() {
        for (let i = 0; i < 20; i += 1)
          for (const name of fs.readdirSync(${JSON.stringify(folder)})) {
            looks += 1;
            try { fs.closeSync(fs.openSync(${JSON.stringify(folder)} + "/" + name, "r")); reads += 1; } catch {}
          }
        setImmediate(again);
      })();`;
    const ids = ["--reuid=33", "--regid=33", "--clear-groups"];
    const child = spawn("setpriv", [...ids, process.execPath, "-e", watch], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.on("data", (piece: Buffer) => (said += piece.toString()));
    for (let at = 0; at < 400; at += 1)
      expect(await state.apply([{ id: "f", type: "file", path, content: `${at}\n` }])).toEqual([
        "f changed update",
      ]);
    child.kill("SIGTERM");
    await once(child, "close");
    const { looks, reads } = JSON.parse(said) as { looks: number; reads: number };
    expect(looks).toBeGreaterThan(1000);
    expect(reads).toBe(0);
  });

  test("a new file gets what its folder gives new files, and no more than its mode", async () => {
    using state = new RealState();
    output("setfacl", "-dm", "u:2:rwx,g::r-x,o::r-x", folder);
    const [path, theirs] = [join(folder, "new"), join(folder, "theirs")];
    await state.apply([{ type: "file", path, content: "x", mode: "0640" }]);
    writeFileSync(theirs, "x", { mode: 0o640 });
    expect(look(path)).toBe(look(theirs));
    expect(look(path)).toMatch(/^100640 0 0\n[^]*user:2:rwx\s+#effective:r--/);
  });

  test("a change of group leaves a program its capabilities, and so does root", async () => {
    using state = new RealState();
    const path = join(folder, "program");
    for (const [uid, wanted] of [
      [0, { group: "33" }],
      [33, { group: "34" }],
      [0, { mode: "4755" }],
    ] as const) {
      copyFileSync("/bin/true", path);
      chownSync(path, uid, uid);
      output("setcap", "cap_net_raw+ep", path);
      expect(await state.apply([{ id: "r", type: "file", path, ...wanted }])).toEqual(["r changed update"]);
      expect(output("getcap", path)).toBe(`${path} cap_net_raw=ep\n`);
    }
  });

  test.each([
    ["owner", { owner: "33" }],
    ["owner and mode", { owner: "33", mode: "4755" }],
    ["owner and content", { owner: "33", content: "new\n" }],
    ["owner of all in a folder", { owner: "33", recurse: true }],
  ])(
    "an unprivileged owner gets no capabilities: plan and apply refuse it without force: %s",
    async (_what, spec) => {
      using state = new RealState();
      const path = join(folder, "program");
      copyFileSync("/bin/true", path);
      output("setcap", "cap_net_raw+ep", path);
      const before = look(path);
      const isFolder = "recurse" in spec;
      const wanted = {
        id: "r",
        type: isFolder ? "directory" : "file",
        path: isFolder ? folder : path,
        ...spec,
      };
      const refused = expect.stringMatching(/would lose security\.capability.*: not permitted/);
      const { results } = await state.run("plan", [wanted]);
      expect(results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR", message: refused });
      expect(await state.apply([wanted])).toEqual([refused]);
      expect(look(path)).toBe(before);
      if (isFolder) return;
      const forced = [{ ...wanted, force: true }];
      expect((await state.run("plan", forced)).results[0]?.outcome).toBe("would_change");
      expect(await state.apply(forced)).toEqual(["r changed update"]);
      expect([output("getcap", path), statSync(path).uid]).toEqual(["", 33]);
      // It was root's with them, and is again.
      expect(await state.apply([])).toEqual(["r changed remove"]);
      expect(look(path)).toBe(before);
    },
  );

  test("what an unprivileged owner let others do goes with him, and what root let them do stays", async () => {
    using state = new RealState();
    const path = join(folder, "file");
    for (const [uid, spec, isKept] of [
      [33, { owner: "0" }, false],
      [33, { owner: "34" }, false],
      [33, { owner: "0", content: "new\n" }, false],
      [33, { content: "new\n" }, true],
      [33, { owner: "33", mode: "0600" }, true],
      [0, { owner: "33" }, true],
      [0, { owner: "33", content: "new\n" }, true],
    ] as const) {
      writeFileSync(path, "old\n");
      chownSync(path, uid, uid);
      output("setfacl", "-m", "u:65534:rw", path);
      output("setfattr", "-n", "user.note", "-v", "hello", path);
      expect(await state.apply([{ id: "r", type: "file", path, backup: false, ...spec }])).toEqual([
        "r changed update",
      ]);
      const [acl, note] = [
        output("getfacl", "-cnp", path),
        output("getfattr", "-d", "--absolute-names", path),
      ];
      expect([acl.includes("user:65534"), note.includes("hello")]).toEqual([isKept, isKept]);
      await state.apply([]);
      rmSync(path);
    }
  });

  test("a set-id bit is gone when the owner or the group changes and nobody says otherwise", async () => {
    using state = new RealState();
    const path = join(folder, "file");
    for (const [uid, spec, mode] of [
      [0, { owner: "33" }, 0o755],
      [0, { group: "33" }, 0o755],
      [33, { owner: "0" }, 0o755],
      [0, { owner: "33", content: "new\n" }, 0o755],
      [33, { owner: "0", content: "new\n" }, 0o755],
      [0, { owner: "33", mode: "4711" }, 0o4711],
      [0, { content: "new\n" }, 0o6755],
    ] as const) {
      writeFileSync(path, "old\n");
      chownSync(path, uid, uid);
      chmodSync(path, 0o6755);
      expect(await state.apply([{ id: "r", type: "file", path, backup: false, ...spec }])).toEqual([
        "r changed update",
      ]);
      expect(statSync(path).mode & 0o7777).toBe(mode);
      await state.apply([]);
      rmSync(path);
    }
  });

  test("an owner that could not be given everything stays who he was, and nothing is ours", async () => {
    // A file system that takes no attributes of users.
    const disk = join(folder, "disk");
    mkdirSync(disk);
    output("mount", "-t", "ramfs", "-o", "mode=755", "ramfs", disk);
    try {
      const host = new LocalHost({ stateFolder: join(folder, "state") });
      for (const kind of ["file", "folder"] as const) {
        const path = join(disk, kind);
        if (kind === "file") writeFileSync(path, "x", { mode: 0o640 });
        else mkdirSync(path, { mode: 0o750 });
        const extras = { attributes: { "user.note": Buffer.from("x").toString("base64") } };
        const before = statSync(path);
        expect(() => host.files.setAttributes(path, { uid: 33, gid: 33, mode: 0o600, extras })).toThrow(
          expect.objectContaining({ details: expect.objectContaining({ extras: ["user.note"] }) }),
        );
        const { uid, gid, mode } = statSync(path);
        expect({ uid, gid, mode }).toEqual({ uid: before.uid, gid: before.gid, mode: before.mode });
      }
    } finally {
      output("umount", disk);
    }
  });

  test("what an agent that is not root can't keep fails in the plan and the apply; force goes on without it", async () => {
    using state = new RealState();
    chownSync(state.folder, 1, 1);
    chownSync(folder, 1, 1);
    const path = join(folder, "program");
    copyFileSync("/bin/true", path);
    chownSync(path, 1, 1);
    output("setcap", "cap_net_raw+ep", path);
    const before = look(path);
    const wanted = (more: object): JsonObject[] => [
      { id: "r", type: "file", path, content: "new\n", ...more },
    ];
    const refused = expect.stringMatching(/would lose security\.capability.*: not permitted/);
    process.setegid?.(1);
    process.seteuid?.(1);
    try {
      const { results } = await state.run("plan", wanted({}));
      expect(results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR", message: refused });
      expect(await state.apply(wanted({}))).toEqual([refused]);
      expect(readFileSync(path)).toEqual(readFileSync("/bin/true"));
      expect((await state.run("plan", wanted({ force: true }))).results[0]?.outcome).toBe("would_change");
      expect(await state.apply(wanted({ force: true }))).toEqual(["r changed update"]);
    } finally {
      process.seteuid?.(0);
      process.setegid?.(0);
    }
    expect([readFileSync(path, "utf8"), output("getcap", path)]).toEqual(["new\n", ""]);
    // Root brings all of it back.
    expect(await state.apply([])).toEqual(["r changed remove"]);
    expect(look(path)).toBe(before);
  });
});
