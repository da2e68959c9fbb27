/** Who is known to the name service of a machine is known in a plan that makes users, too. */
import { expect, test } from "vitest";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { ForeseenHost } from "../../../lib/state/foreseen/foreseen-host.ts";
import { editTable } from "../../../lib/state/resources/shared/accounts.ts";

/** A machine whose files name root and web, and whose name service alice as well. */
function machine(): MemoryHost {
  const host = new MemoryHost();
  host.files.makeDirectory("/etc", {});
  for (const path of ["/etc/passwd", "/etc/group"])
    host.files.writeFile(path, Buffer.from("root:x:0:0\nweb:x:33:33\n"), { mode: 0o644 });
  const { users } = host;
  const known = { name: "alice", id: 5000 };
  const idOf = (name: string) => (name === known.name ? known.id : null);
  const nameOf = (id: number) => (id === known.id ? known.name : null);
  Object.assign(host, {
    users: {
      userId: (name: string) => users.userId(name) ?? idOf(name),
      groupId: (name: string) => users.groupId(name) ?? idOf(name),
      userName: (id: number) => users.userName(id) ?? nameOf(id),
      groupName: (id: number) => users.groupName(id) ?? nameOf(id),
    },
  });
  return host;
}

test("a plan that makes and removes users knows those of the name service", () => {
  const { users, ...foreseen } = new ForeseenHost(machine());
  for (const path of ["/etc/passwd", "/etc/group"]) {
    editTable(foreseen as ForeseenHost, path, (rows) => [
      ...rows.filter(([name]) => name !== "web"),
      ["deploy", "x", "1000", "1000"],
    ]);
  }
  for (const [idOf, nameOf] of [
    [users.userId, users.userName],
    [users.groupId, users.groupName],
  ] as const) {
    expect(["root", "deploy", "alice", "web", "bob"].map(idOf)).toEqual([0, 1000, 5000, null, null]);
    expect([0, 1000, 5000, 33, 77].map(nameOf)).toEqual(["root", "deploy", "alice", null, null]);
  }
});
