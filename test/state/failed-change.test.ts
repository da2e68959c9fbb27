/** A change that failed before anything was changed is not ours: an edit by somebody else survives our removal. */
import { expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { OrchestratorError } from "../../lib/errors.ts";
import { hostError } from "../../lib/host/host-error.ts";
import type { HostFiles } from "../../lib/host/host.ts";
import type { MemoryHost } from "../../lib/host/memory-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import { backupsOf } from "../../lib/state/resources/file/prior.ts";
import { memoryMachine } from "../support/machine/memory-machine.ts";
import { wholeMachine } from "../support/machine/whole-machine.ts";
import { createMachine, declare, outcomes, StateFixture } from "../support/state-fixture.ts";

const conf = { id: "f", type: "file", path: "/conf", content: "ours" };

/** Has calls of the machine's files fail until the function it returns is called. */
function refuse(host: MemoryHost, errno: string, ...calls: (keyof HostFiles)[]): () => void {
  const kept = calls.map((call) => [call, host.files[call]] as const);
  for (const call of calls) {
    Object.assign(host.files, {
      [call]: (path: string) => {
        throw hostError(path, errno);
      },
    });
  }
  return () => {
    for (const [call, member] of kept) Object.assign(host.files, { [call]: member });
  };
}

const refusals: [what: string, definition: JsonObject, errno: string, call: keyof HostFiles][] = [
  ["a full disk, of a file", conf, "ENOSPC", "writeFile"],
  ["a read-only file system, of a file", conf, "EROFS", "writeFile"],
  ["an immutable file", conf, "EPERM", "writeFile"],
  [
    "a read-only file system, of a mode",
    { id: "f", type: "file", path: "/conf", mode: "0600" },
    "EROFS",
    "setAttributes",
  ],
  [
    "a full disk, of a link",
    { id: "f", type: "symlink", path: "/conf", target: "x", force: true },
    "ENOSPC",
    "makeSymlink",
  ],
  [
    "a read-only file system, of a removal",
    { id: "f", type: "file", path: "/conf", ensure: "absent" },
    "EROFS",
    "removeFile",
  ],
  ["a full disk, of a line", { id: "f", type: "line", path: "/conf", line: "ours" }, "ENOSPC", "writeFile"],
  [
    "a full disk, of a block",
    { id: "f", type: "block", path: "/conf", content: "ours" },
    "ENOSPC",
    "writeFile",
  ],
];

test.each(refusals)(
  "%s: what an admin then writes survives the removal",
  async (_what, definition, errno, call) => {
    const state = new StateFixture();
    state.write("/conf", "theirs\n");
    const permit = refuse(state.host, errno, call);
    expect(outcomes(await state.run("apply", declare([definition])))).toEqual(["f failed"]);
    permit();
    expect(state.applied).toEqual([]);
    state.write("/conf", "theirs\nand more\n");
    state.host.files.setAttributes("/conf", { mode: 0o604 });
    expect(outcomes(await state.run("apply", []))).toEqual([]);
    expect(state.read("/conf")).toBe("theirs\nand more\n");
    expect(state.host.files.stat("/conf")?.mode).toBe(0o604);
  },
);

test.each(refusals)("%s: what comes back is what stood before the first real change", async (...row) => {
  const [, definition, errno, call] = row;
  const state = new StateFixture();
  state.write("/conf", "theirs\n");
  const permit = refuse(state.host, errno, call);
  await state.run("apply", declare([definition]));
  permit();
  state.write("/conf", "newer\n");
  expect(outcomes(await state.run("apply", declare([definition])))).toEqual(["f changed"]);
  expect(outcomes(await state.run("apply", []))).toEqual(["f changed"]);
  expect(state.read("/conf")).toBe("newer\n");
  expect(state.host.files.stat("/conf")).toMatchObject({ kind: "file", mode: 0o644 });
});

test("a second version that fails leaves the first one ours, as it was noted", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs");
  await state.run("apply", declare([conf]));
  const noted = state.applied;
  const permit = refuse(state.host, "ENOSPC", "writeFile");
  await state.run("apply", declare([{ ...conf, content: "second" }]));
  permit();
  expect(state.applied).toEqual(noted);
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("theirs");
});

test("what failed and was never ours needs no copy of what stands", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs");
  const permit = refuse(state.host, "ENOSPC", "writeFile");
  await state.run("apply", declare([conf]));
  permit();
  expect(backupsOf(state.applied)).toEqual(new Set());
});

test("what somebody edits between the first look and the change is what comes back", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs");
  const slow = { id: "slow", type: "script", run: "touch done", creates: "/done" };
  const running = state.run("apply", declare([slow, conf]), {
    onResult: ({ resource_id }) => {
      if (resource_id === "slow") state.write("/conf", "edited meanwhile");
    },
  });
  expect(outcomes(await running)).toEqual(["slow changed", "f changed"]);
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("edited meanwhile");
});

test("what somebody did as desired between the first look and its turn stays his", async () => {
  const state = new StateFixture();
  const slow = { id: "slow", type: "script", run: "touch done", creates: "/done" };
  const run = await state.run("apply", declare([slow, conf]), {
    onResult: ({ resource_id }) => {
      if (resource_id === "slow") state.write("/conf", "ours");
    },
  });
  expect(outcomes(run)).toEqual(["slow changed", "f unchanged"]);
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("ours");
});

test("what was in sync for long, and is repaired one day, goes back to what stood right before that", async () => {
  const state = new StateFixture();
  state.write("/conf", "ours");
  for (let days = 0; days < 3; days += 1) await state.run("apply", declare([conf]));
  expect(outcomes(await state.run("apply", []))).toEqual(["f unchanged"]);
  await state.run("apply", declare([conf]));
  state.write("/conf", "an admin's");
  await state.run("apply", declare([conf]));
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("an admin's");
});

test("a second try captures anew where the first one changed nothing", async () => {
  const state = new StateFixture(createMachine(), systemClock);
  state.write("/conf", "theirs");
  const write = state.host.files.writeFile.bind(state.host.files);
  let fails = true;
  state.host.files.writeFile = (path, content, attributes) => {
    if (!fails) return write(path, content, attributes);
    fails = false;
    write(path, Buffer.from("edited in between"), {});
    throw hostError(path, "ENOSPC");
  };
  const definition = { ...conf, retry: { attempts: 2, delay_seconds: 0 } };
  expect(outcomes(await state.run("apply", declare([definition])))).toEqual(["f changed"]);
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("edited in between");
});

test("a second try keeps what stood before the first one, where that changed something", async () => {
  const state = new StateFixture(createMachine(), systemClock);
  state.write("/conf", "theirs");
  const write = state.host.files.writeFile.bind(state.host.files);
  let fails = true;
  state.host.files.writeFile = (path, content, attributes) => {
    if (!fails) return write(path, content, attributes);
    fails = false;
    write(path, Buffer.from("half"), {});
    throw new Error("It broke in the middle.");
  };
  const definition = { ...conf, retry: { attempts: 2, delay_seconds: 0 } };
  expect(outcomes(await state.run("apply", declare([definition])))).toEqual(["f changed"]);
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("theirs");
});

test("a user that could not be made and whom an admin then makes is not deleted", async () => {
  const host = memoryMachine();
  const state = new StateFixture(host);
  const [deploy] = declare([{ id: "u", type: "user", name: "deploy", shell: "/bin/bash" }]);
  const run = host.run.bind(host);
  host.run = async (command, signal) =>
    command.argv[0] === "useradd"
      ? { ...(await run({ argv: ["gpasswd", "-M", "", "users"] }, signal)), exitCode: 1 }
      : run(command, signal);
  expect(outcomes(await state.run("apply", [deploy!]))).toEqual(["u failed"]);
  expect(state.applied).toEqual([]);
  host.run = run;
  await host.run({ argv: ["useradd", "-M", "deploy"] }, new AbortController().signal);
  await state.run("apply", []);
  expect(host.users.userId("deploy")).not.toBeNull();
});

test("a user who was made before a later step failed is ours", async () => {
  const host = memoryMachine();
  const state = new StateFixture(host);
  const [deploy] = declare([{ id: "u", type: "user", name: "deploy", password_hash: "*" }]);
  const run = host.run.bind(host);
  host.run = async (command, signal) => {
    const result = await run(command, signal);
    return command.argv[0] === "useradd" ? { ...result, exitCode: 1 } : result;
  };
  expect(outcomes(await state.run("apply", [deploy!]))).toEqual(["u failed"]);
  host.run = run;
  expect(outcomes(await state.run("apply", []))).toEqual(["u changed"]);
  expect(host.users.userId("deploy")).toBeNull();
});

test("a script that ran and failed is ours: nobody can tell what it did", async () => {
  const ran: string[] = [];
  const host = createMachine({
    work: () => (host.files.writeFile("/done", Buffer.from(""), {}), { exitCode: 1 }),
    undo: () => (ran.push("undo"), host.files.removeFile("/done"), {}),
  });
  const state = new StateFixture(host);
  const script = { id: "s", type: "script", run: ["work"], creates: "/done", undo: ["undo"] };
  expect(outcomes(await state.run("apply", declare([script])))).toEqual(["s failed"]);
  expect(outcomes(await state.run("apply", []))).toEqual(["s changed"]);
  expect(ran).toEqual(["undo"]);
});

test("a service that was as desired and is only restarted is not ours: stopped by an admin, it stays stopped", async () => {
  const host = wholeMachine();
  const state = new StateFixture(host);
  const service = (verb: string) =>
    host.run({ argv: ["service", "ssh", verb] }, new AbortController().signal);
  await service("start");
  const ssh = { id: "s", type: "service", name: "ssh", running: true, restart_on: ["f"] };
  const run = await state.run("apply", declare([conf, ssh]));
  expect(run.results.map(({ outcome, action }) => [outcome, action])).toEqual([
    ["changed", "create"],
    ["changed", "restart"],
  ]);
  await service("stop");
  expect(outcomes(await state.run("apply", []))).toEqual(["s unchanged", "f changed"]);
  expect((await service("status")).exitCode).toBe(3);
});

test("without a copy, what we wrote is no prior of a later version that asks for one", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs");
  await state.run("apply", declare([{ ...conf, backup: false }]));
  await state.run("apply", declare([{ ...conf, content: "second" }]));
  expect(outcomes(await state.run("apply", []))).toEqual(["f unchanged"]);
  expect(state.read("/conf")).toBe("second");
});

test("a removal that failed behind its last step is done, and an edit made since stays", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs");
  await state.run("apply", declare([conf]));
  const restore = state.host.backups.restore.bind(state.host.backups);
  state.host.backups.restore = (sha256, path, options) => {
    void restore(sha256, path, options);
    throw new Error("It broke right behind.");
  };
  expect(outcomes(await state.run("apply", []))).toEqual(["f failed"]);
  expect(state.applied).toEqual([]);
  state.host.backups.restore = restore;
  state.write("/conf", "edited");
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("edited");
});

test("a removal that was refused leaves the thing ours", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs");
  await state.run("apply", declare([conf]));
  const restore = state.host.backups.restore.bind(state.host.backups);
  state.host.backups.restore = (_sha256, path) => {
    throw hostError(path, "ENOSPC");
  };
  expect(outcomes(await state.run("apply", []))).toEqual(["f failed"]);
  state.host.backups.restore = restore;
  expect(outcomes(await state.run("apply", []))).toEqual(["f changed"]);
  expect([state.read("/conf"), state.applied]).toEqual(["theirs", []]);
});

test("what was as before us when another removal failed is not taken away by the next run", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs");
  state.write("/other", "theirs");
  const other = { id: "o", type: "symlink", path: "/other", target: "x", force: true };
  await state.run("apply", declare([conf, other]));
  state.write("/conf", "theirs");
  const restore = state.host.backups.restore.bind(state.host.backups);
  state.host.backups.restore = (_sha256, path) => {
    throw hostError(path, "ENOSPC");
  };
  expect(outcomes(await state.run("apply", []))).toEqual(["o failed", "f unchanged"]);
  state.host.backups.restore = restore;
  state.write("/conf", "edited");
  expect(outcomes(await state.run("apply", []))).toEqual(["o changed"]);
  expect(state.read("/conf")).toBe("edited");
});

test("a cancelled script that was undone by its spec is still noted", async () => {
  const controller = new AbortController();
  const host = createMachine({
    slow: () => (controller.abort(), host.files.writeFile("/done", Buffer.from(""), {}), {}),
  });
  const state = new StateFixture(host);
  const script = { id: "s", type: "script", run: ["slow"], creates: "/done", undo: "rm /done" };
  const run = await state.run("apply", declare([script]), { signal: controller.signal });
  expect(outcomes(run)).toEqual(["s changed"]);
  expect(state.applied).toMatchObject([{ prior: { type: "script" } }]);
});

test("a run whose last script is cut by a cancel was cancelled, and did not fail", async () => {
  const stop = new AbortController();
  const host = createMachine({
    slow: (_, signal) => {
      stop.abort(new OrchestratorError("CANCELLED"));
      signal.throwIfAborted();
      return {};
    },
  });
  const script = { id: "s", type: "script", run: ["slow"], creates: "/done" };
  const run = await new StateFixture(host).run("apply", declare([script]), { signal: stop.signal });
  expect(run.results).toMatchObject([{ outcome: "failed", code: "CANCELLED" }]);
  expect(run.status).toBe("cancelled");
});

test("a later version of a line that broke behind its write is taken away like the first", async () => {
  const state = new StateFixture();
  state.write("/conf", "k=0\n");
  const line = (text: string) =>
    declare([{ id: "l", type: "line", path: "/conf", line: text, match: "k=*" }]);
  await state.run("apply", line("k=1"));
  const write = state.host.files.writeFile.bind(state.host.files);
  state.host.files.writeFile = (path, content, attributes) => {
    write(path, content, attributes);
    throw new Error("It broke right behind.");
  };
  expect(outcomes(await state.run("apply", line("k=2")))).toEqual(["l failed"]);
  state.host.files.writeFile = write;
  expect(outcomes(await state.run("apply", []))).toEqual(["l changed"]);
  expect(state.read("/conf")).toBe("k=0\n");
});

test("a later version of a block with other marks that broke behind its write is taken away like the first", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs\n");
  const block = (marker: string) =>
    declare([{ id: "b", type: "block", path: "/conf", content: "ours", marker }]);
  await state.run("apply", block("# {mark}"));
  const write = state.host.files.writeFile.bind(state.host.files);
  state.host.files.writeFile = (path, content, attributes) => {
    write(path, content, attributes);
    throw new Error("It broke right behind.");
  };
  expect(outcomes(await state.run("apply", block("; {mark}")))).toEqual(["b failed"]);
  state.host.files.writeFile = write;
  expect(outcomes(await state.run("apply", []))).toEqual(["b changed"]);
  expect(state.read("/conf")).toBe("theirs\n");
});

test("a file that became a link, or a link that became a file, goes where nothing stood before", async () => {
  const file = { id: "p", type: "file", path: "/p", content: "x", force: true };
  const link = { id: "p", type: "symlink", path: "/p", target: "y", force: true };
  for (const versions of [
    [file, link],
    [link, file],
  ]) {
    const state = new StateFixture();
    for (const version of versions) await state.run("apply", declare([version]));
    expect(outcomes(await state.run("apply", []))).toEqual(["p changed"]);
    expect(state.host.files.stat("/p")).toBeNull();
  }
});
