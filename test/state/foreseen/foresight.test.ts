/** What a plan says of a resource that it can't check before another one was done. */
import { describe, expect, test } from "vitest";
import { hostError } from "../../../lib/host/host-error.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { wholeMachine } from "../../support/machine/whole-machine.ts";
import { createMachine, declare, StateFixture } from "../../support/state-fixture.ts";

const script = (id: string, more: JsonObject = {}): JsonObject => ({
  id,
  type: "script",
  run: "true",
  creates: `/never/${id}`,
  ...more,
});
const file = (id: string, more: JsonObject = {}): JsonObject => ({
  id,
  type: "file",
  path: `/opt/app/${id}`,
  content: "x",
  ...more,
});

async function messages(...modules: JsonObject[][]): Promise<(string | undefined)[]> {
  const machine = new StateFixture();
  const desired = modules.flatMap((definitions, at) => declare(definitions, `m${at}`));
  const { results } = await machine.run("plan", desired);
  for (const { outcome, until, message } of results) {
    expect(outcome).toBe(until === undefined ? "would_change" : "unknown");
    expect(message).toBe(until === undefined ? undefined : `not checked yet: needs ${until} first`);
  }
  return results.map(({ message }) => message);
}

describe("a plan that can't look at a resource yet", () => {
  test("names the resource that must be done first", async () => {
    expect(await messages([script("nginx"), file("conf")])).toEqual([
      undefined,
      "not checked yet: needs nginx first",
    ]);
  });

  test("names the one that it says it needs, or that it watches, among several", async () => {
    const [one, two] = [script("one"), script("two")];
    expect((await messages([one, two, file("conf", { requires: ["one"] })]))[2]).toBe(
      "not checked yet: needs one first",
    );
    expect((await messages([one, two, file("conf")]))[2]).toBe("not checked yet: needs two first");
    const watching = script("last", { cwd: "/opt/app", run_on: ["one"] });
    expect((await messages([one, two, watching]))[2]).toBe("not checked yet: needs one first");
  });

  test("names the user of a job, whatever comes between them", async () => {
    const user = (name: string): JsonObject => ({ id: name, type: "user", name });
    const line = { id: "l", type: "line", path: "/etc/motd", line: "x" };
    const job = { id: "j", type: "cron", name: "j", user: "one", command: "true", hour: 1 };
    const machine = new StateFixture(wholeMachine({ hasCron: true }));
    machine.host.files.writeFile("/etc/motd", Buffer.from(""), {});
    const { results } = await machine.run("plan", declare([user("one"), user("two"), line, job]));
    expect(results.map(({ outcome, until }) => until ?? outcome)).toEqual([
      "would_change",
      "would_change",
      "would_change",
      "one",
    ]);
  });

  test("names one of another module with its module", async () => {
    expect(await messages([script("nginx")], [file("conf")])).toEqual([
      undefined,
      "not checked yet: needs m0/nginx first",
    ]);
  });

  test.each(["plan", "apply"] as const)("a %s names the topmost folder that is missing", async (mode) => {
    const machine = new StateFixture();
    machine.host.files.makeDirectory("/opt", {});
    const { results } = await machine.run(mode, declare([file("conf", { path: "/opt/app/etc/conf" })]));
    expect(results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR", message: "missing: /opt/app" });
    const line = declare([{ id: "l", type: "line", path: "/opt/app.conf", line: "x" }]);
    const missed = await machine.run(mode, line);
    expect(missed.results[0]).toMatchObject({ outcome: "failed", message: "missing: /opt/app.conf" });
  });

  test("fails where nothing before may bring what is missing, and says what", async () => {
    const machine = new StateFixture();
    const folder = { type: "directory", path: "/x" };
    const { results } = await machine.run("plan", declare([folder, file("conf")]));
    expect(results[1]).toMatchObject({ outcome: "failed", message: "missing: /opt" });
  });

  test.each<[string, JsonObject, string]>([
    ["a script, which may mount it anew", script("s"), "unknown"],
    [
      "a clone that brings what is below it",
      { id: "s", type: "git", path: "/disk/sub", repository: "/r" },
      "unknown",
    ],
    ["a clone elsewhere", { id: "s", type: "git", path: "/other", repository: "/r" }, "failed"],
    ["a file", file("s", { path: "/s" }), "failed"],
  ])("of a disk that is read-only: what comes after %s", async (_what, before, outcome) => {
    const machine = new StateFixture(createMachine({ git: () => ({ stdout: `${"1".repeat(40)}\tHEAD\n` }) }));
    const { files } = machine.host;
    for (const path of ["/disk", "/disk/sub"]) files.makeDirectory(path, { mode: 0o755 });
    const requireChangeable = files.requireChangeable.bind(files);
    files.requireChangeable = (path, ...more) => {
      if (path.startsWith("/disk/sub/")) throw hostError(path, "EROFS");
      requireChangeable(path, ...more);
    };
    const conf = file("conf", { path: "/disk/sub/conf" });
    const { results } = await machine.run("plan", declare([before, conf]));
    expect(results[1]).toMatchObject(
      outcome === "failed"
        ? { outcome, message: "read-only file system: /disk/sub/conf" }
        : { outcome, until: "s" },
    );
  });
});
