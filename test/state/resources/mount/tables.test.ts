/** The fields of /etc/fstab, as a line has them. */
import { describe, expect, test } from "vitest";
import {
  escapeField,
  parseFstab,
  printFstab,
  unescapeField,
} from "../../../../lib/state/resources/mount/tables.ts";
import { memoryMachine } from "../../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../../support/state-fixture.ts";

test.each([
  ["/a\\040b", "/a b"],
  ["/a\\040\\011b", "/a \tb"],
  ["/\\303\\244", "/ä"],
  ["/\\303\\244\\040\\342\\202\\254/x", "/ä €/x"],
  ["/\\134040", "/\\040"],
  ["/\\043a", "/#a"],
  ["/\\9", "/\\9"],
  ["/\\04", "/\\04"],
  ["/a\\040b\\040c", "/a b c"],
])("the field %s is %j", (field, text) => {
  expect(unescapeField(field)).toBe(text);
});

test.each(["/a b", "/a\tb", "/a\nb", "/a#b", "/a\\b", "/a\\040b", "/ä", "/\u3000", "/a  b"])(
  "%j is found again in its field, which is one word",
  (text) => {
    expect(escapeField(text)).toMatch(/^[^ \t\n#]+$/);
    expect(unescapeField(escapeField(text))).toBe(text);
  },
);

const entry = { device: "/dev/sdb", path: "/srv", fstype: "ext4", options: "rw" };

describe.each([
  [0, 0],
  [0, 1],
  [0, 2],
  [1, 0],
  [1, 2],
])("dump %i and pass %i", (dump, pass) => {
  test("stand in the order that fstab(5) has", () => {
    expect(printFstab({ ...entry, dump, pass })).toBe(`/dev/sdb /srv ext4 rw ${dump} ${pass}`);
    expect(parseFstab(`/dev/sdb /srv ext4 rw ${dump} ${pass}`)).toEqual({ ...entry, dump, pass });
  });

  test("are written as they are declared, and no others are left", async () => {
    for (const before of ["", "/dev/sdb /srv ext4 defaults 1 1\n", "/dev/sdb /srv ext4 defaults 2 1\n"]) {
      const state = new StateFixture(memoryMachine());
      state.write("/etc/fstab", before);
      const mount = { type: "mount", path: "/srv", device: "/dev/sdb", fstype: "ext4", ensure: "present" };
      const desired = declare([{ ...mount, dump, pass }]);
      expect((await state.run("apply", desired)).results[0]).toMatchObject({ outcome: "changed" });
      expect(state.read("/etc/fstab")).toBe(`/dev/sdb /srv ext4 defaults ${dump} ${pass}\n`);
      await state.run("apply", []);
      expect(state.read("/etc/fstab")).toBe(before);
    }
  });
});

test.each([
  ["/dev/sdb /srv ext4", { options: "defaults", dump: 0, pass: 0 }],
  ["/dev/sdb /srv ext4 rw", { dump: 0, pass: 0 }],
  ["/dev/sdb /srv ext4 rw 1", { dump: 1, pass: 0 }],
  ["  /dev/sdb\t/srv  ext4 rw 0 2  ", { dump: 0, pass: 2 }],
])("the line %j is an entry with what stands for the fields that it lacks", (line, more) => {
  expect(parseFstab(line)).toEqual({ ...entry, ...more });
});

test.each(["", "  ", "# /dev/sdb /srv ext4 rw 0 0", "\t#x"])("the line %j is no entry", (line) => {
  expect(parseFstab(line)).toBeNull();
});

test.each([
  ["rw,,nosuid", "rw,nosuid"],
  [",rw", "rw"],
  ["rw,", "rw"],
  [",", "defaults"],
  ["defaults", "defaults"],
  ["size=1m,mode=0", "size=1m,mode=0"],
])("what was mounted by the options %s of its line is mounted by %s again", async (options, told) => {
  const state = new StateFixture(memoryMachine());
  const { signal } = new AbortController();
  const line = `tmpfs /srv tmpfs ${options} 0 0\n`;
  state.write("/etc/fstab", line);
  if (!state.host.files.stat("/srv")) state.host.files.makeDirectory("/srv", {});
  await state.host.run({ argv: ["mount", "-t", "tmpfs", "-o", "rw", "tmpfs", "/srv"] }, signal);
  const gone = declare([{ type: "mount", path: "/srv", ensure: "absent" }]);
  expect((await state.run("apply", gone)).results[0]).toMatchObject({ outcome: "changed" });
  const call = state.host.run.bind(state.host);
  const mounts: (readonly string[])[] = [];
  state.host.run = (command, given) => {
    if (command.argv[0] === "mount") mounts.push(command.argv);
    return call(command, given);
  };
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect(mounts).toEqual([["mount", "-t", "tmpfs", "-o", told, "tmpfs", "/srv"]]);
  expect(state.read("/etc/fstab")).toBe(line);
});
