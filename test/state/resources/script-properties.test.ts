/** What is said of a script reaches each program that it has: the work, the check, what takes it back, and the work for a trigger. */
import { expect, test } from "vitest";
import type { HostCommand } from "../../../lib/host/host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

/** Programs of a script, by what they are for, each known by its last argument. */
const programs = { run: ["/p", "run"], check: ["/p", "check"], undo: ["/p", "undo"] };
const texts = { run: "run", check: "check", undo: "undo" };

interface Row {
  /** What is said. */
  said: JsonObject;
  /** What each command has of it. */
  command: Partial<HostCommand>;
}

const rows: Readonly<Record<string, Row>> = {
  user: { said: { user: "root" }, command: { user: "root" } },
  cwd: { said: { cwd: "/srv" }, command: { cwd: "/srv" } },
  umask: { said: { umask: "0027" }, command: { umask: 0o027 } },
  "umask that takes nothing": { said: { umask: "0000" }, command: { umask: 0 } },
  "umask that takes nothing, of three digits": { said: { umask: "000" }, command: { umask: 0 } },
  "umask of three digits": { said: { umask: "077" }, command: { umask: 0o077 } },
  environment: { said: { environment: { A: "1" } }, command: { environment: { A: "1" } } },
  "all together": {
    said: { user: "root", cwd: "/srv", umask: "0002", environment: { A: "1" } },
    command: { user: "root", cwd: "/srv", umask: 2, environment: { A: "1" } },
  },
  nothing: { said: {}, command: {} },
};

const cases = Object.entries(rows).flatMap(([what, row]) => [
  [what, "programs", programs, row] as const,
  [what, "texts", texts, row] as const,
]);

test.each(cases)("%s reaches all %s of a script", async (_what, _kind, script, { said, command }) => {
  const ran: [string, Partial<HostCommand>][] = [];
  let isDone = false;
  const program = (given: HostCommand) => {
    const { argv, stdin, user, cwd, umask, environment, asks = false } = given;
    const which = String(stdin ?? argv.at(-1));
    const found = { user, cwd, umask, environment };
    const defined = Object.entries(found).filter(([, value]) => value !== undefined);
    ran.push([`${which}${asks ? " asks" : ""}`, Object.fromEntries(defined)]);
    if (which !== "check") isDone = which === "run";
    return { exitCode: which === "check" && !isDone ? 1 : 0 };
  };
  const host = new MemoryHost({ programs: { "/p": program, "/bin/sh": program } });
  for (const folder of ["/etc", "/srv"]) host.files.makeDirectory(folder, {});
  host.files.writeFile("/etc/passwd", Buffer.from("root:x:0:0::/root:/bin/sh\n"), { mode: 0o644 });
  const state = new StateFixture(host);
  const cause = (content: string) => ({ id: "cause", type: "file", path: "/etc/cause", content });
  const wanted = { id: "s", type: "script", run_on: ["cause"], ...script, ...said };
  const took = (): string[] => {
    for (const [which, found] of ran) expect([which, found]).toEqual([which, command]);
    return [...new Set(ran.splice(0).map(([which]) => which))];
  };
  const apply = async (...resources: (JsonObject & { type: string })[]) =>
    outcomes(await state.run("apply", declare(resources)));

  expect(await apply(cause("a"), wanted)).toEqual(["cause changed", "s changed"]);
  expect(took()).toEqual(["check asks", "run"]);
  expect(await apply(cause("b"), wanted)).toEqual(["cause changed", "s changed"]);
  expect(took()).toEqual(["check asks", "run"]);
  expect(await apply(cause("b"))).toEqual(["s changed", "cause unchanged"]);
  expect(took()).toEqual(["check asks", "undo"]);
});

test("what a later version takes back its work with is what its removal runs", async () => {
  const undone: string[] = [];
  let isDone = false;
  const program = ({ argv }: HostCommand) => {
    const which = argv.at(-1)!;
    if (which === "check") return { exitCode: isDone ? 0 : 1 };
    if (which !== "run") undone.push(which);
    isDone = which === "run";
    return {};
  };
  const state = new StateFixture(new MemoryHost({ programs: { "/p": program } }));
  const version = (undo: string) =>
    declare([{ id: "s", type: "script", run: ["/p", "run"], check: ["/p", "check"], undo: ["/p", undo] }]);
  expect(outcomes(await state.run("apply", version("first")))).toEqual(["s changed"]);
  expect(outcomes(await state.run("apply", version("second")))).toEqual(["s unchanged"]);
  expect(outcomes(await state.run("apply", []))).toEqual(["s changed"]);
  expect(undone).toEqual(["second"]);
});
