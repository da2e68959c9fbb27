/** What stood in a text that somebody took away meanwhile has no place any more: it does not make the text again, and is let go. */
import { expect, test } from "vitest";
import type { Host } from "../../../lib/host/host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { memoryMachine } from "../../support/machine/memory-machine.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

interface Row {
  /** Versions of one resource, in the order in which they are applied. */
  versions: readonly (JsonObject & { type: string })[];
  /** The texts that they are a part of, as they are before; null = there is none. */
  texts: Readonly<Record<string, string | null>>;
}

const setting = { type: "sysctl", key: "net.ipv4.ip_forward", value: "1" };
const newFile = "/etc/sysctl.d/90-fleetwright.conf";
const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h0";
const keys = "/root/.ssh/authorized_keys";
const mount = { type: "mount", path: "/work", device: "/dev/sdb", fstype: "ext4", ensure: "present" };
const host = { type: "host_entry", name: "db", ip: "192.0.2.1" };

const rows: Readonly<Record<string, Row>> = {
  "a line in the place of another": {
    versions: [{ type: "line", path: "/work/t", match: "a=*", line: "a=1" }],
    texts: { "/work/t": "a=0\nb\n" },
  },
  "a line": { versions: [{ type: "line", path: "/work/t", line: "a=1" }], texts: { "/work/t": "b\n" } },
  "a line of a text that was made for it": {
    versions: [{ type: "line", path: "/work/t", line: "a=1", create: true }],
    texts: { "/work/t": null },
  },
  "a block in the place of another": {
    versions: [{ type: "block", path: "/work/t", content: "ours" }],
    texts: { "/work/t": "# BEGIN block\ntheirs\n# END block\n" },
  },
  "a block": { versions: [{ type: "block", path: "/work/t", content: "ours" }], texts: { "/work/t": "b" } },
  "a host in the place of another": { versions: [host], texts: { "/etc/hosts": "192.0.2.9 db\n" } },
  "a host": { versions: [host], texts: { "/etc/hosts": "127.0.0.1 localhost" } },
  "a setting in the place of another": {
    versions: [{ ...setting, path: "/work/t" }],
    texts: { "/work/t": "net.ipv4.ip_forward=0\nb=1\n" },
  },
  "a setting in the place of two": {
    versions: [{ ...setting, path: "/work/t" }],
    texts: { "/work/t": "net.ipv4.ip_forward=0\nb=1\nnet/ipv4/ip_forward = 0\n" },
  },
  "a setting that went from a new file to one of others": {
    versions: [setting, { ...setting, path: "/work/t" }],
    texts: { [newFile]: null, "/work/t": "b=1" },
  },
  "a setting that went from one of others to a new file": {
    versions: [{ ...setting, path: "/work/t" }, setting],
    texts: { [newFile]: null, "/work/t": "b=1" },
  },
  "a setting that went to where it stood": {
    versions: [setting, { ...setting, path: "/work/t" }],
    texts: { [newFile]: null, "/work/t": "net.ipv4.ip_forward=0\n" },
  },
  "a setting that went from where it stood": {
    versions: [{ ...setting, path: "/work/t" }, setting],
    texts: { [newFile]: null, "/work/t": "net.ipv4.ip_forward=0\n" },
  },
  "a line of /etc/fstab in the place of another": {
    versions: [mount],
    texts: { "/etc/fstab": "/dev/sdc /work xfs defaults 0 0\n" },
  },
  "a line of /etc/fstab": {
    versions: [mount],
    texts: { "/etc/fstab": "/dev/sdc /other xfs defaults 0 0\n" },
  },
  "a key in the place of another": {
    versions: [{ type: "authorized_key", user: "root", key }],
    texts: { [keys]: `no-pty ${key}\n` },
  },
  "a key": { versions: [{ type: "authorized_key", user: "root", key }], texts: { [keys]: "# theirs" } },
};

const contentIn = ({ files }: Host, path: string): string | null =>
  files.stat(path) ? Buffer.from(files.readFile(path)).toString() : null;

const cases = Object.entries(rows).flatMap(([what, row]) => {
  const paths = Object.keys(row.texts);
  const ways = paths.length === 1 ? [paths] : [...paths.map((path) => [path]), paths];
  return ways.map((gone) => [what, gone.join(" and "), row, gone] as const);
});

test.each(cases)("%s, where somebody took %s away, is let go", async (_what, _gone, row, gone) => {
  const state = new StateFixture(memoryMachine());
  state.host.files.makeDirectory("/root/.ssh", { mode: 0o700 });
  for (const [path, content] of Object.entries(row.texts))
    if (content === null) expect(contentIn(state.host, path)).toBeNull();
    else state.write(path, content);
  for (const version of row.versions)
    expect(outcomes(await state.run("apply", declare([{ id: "r", ...version }])))).toEqual(["r changed"]);
  for (const path of gone) if (state.host.files.stat(path)) state.host.files.removeFile(path);
  const plan = await state.run("plan", []);
  const removal = await state.run("apply", []);
  expect(removal).toMatchObject({ status: "succeeded", applied: [] });
  expect(removal.results.map(({ changes }) => changes)).toEqual(plan.results.map(({ changes }) => changes));
  for (const [path, content] of Object.entries(row.texts))
    expect([path, contentIn(state.host, path)]).toEqual([path, gone.includes(path) ? null : content]);
});
