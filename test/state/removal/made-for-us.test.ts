/** A text that was made for a resource goes with it, and stays for what others have put into it since. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { wholeMachine } from "../../support/machine/whole-machine.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h0";

const rows: Readonly<Record<string, [path: string, definition: JsonObject]>> = {
  line: ["/work/f", { path: "/work/f", line: "ours", create: true }],
  block: ["/work/f", { path: "/work/f", content: "ours\n", create: true }],
  host_entry: ["/etc/hosts", { name: "db", ip: "10.0.0.5" }],
  mount: ["/etc/fstab", { path: "/work", device: "/dev/sdb1", fstype: "ext4", ensure: "present" }],
  sysctl: ["/etc/sysctl.d/90-fleetwright.conf", { key: "net.ipv4.ip_forward", value: "1" }],
  authorized_key: ["/root/.ssh/authorized_keys", { user: "root", key }],
};

test.each(Object.entries(rows))("the file of a %s", async (type, [path, definition]) => {
  for (const theirs of ["", "# theirs\n"]) {
    const state = new StateFixture(wholeMachine());
    if (state.host.files.stat(path)) state.host.files.removeFile(path);
    expect(outcomes(await state.run("apply", declare([{ id: "r", type, ...definition }])))).toEqual([
      "r changed",
    ]);
    state.write(path, `${state.read(path)}${theirs}`);
    expect(outcomes(await state.run("apply", []))).toEqual(["r changed"]);
    expect(state.host.files.stat(path) ? state.read(path) : "").toBe(theirs);
    expect(state.host.files.stat(path) === null).toBe(theirs === "");
  }
});
