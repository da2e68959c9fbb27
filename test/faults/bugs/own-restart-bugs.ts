import type { Bug } from "./bugs.ts";

const killed = ["test/faults/killed-own-restart.test.ts"];
const ended = ["test/agent/own-restart.test.ts"];
const ownRestart = "lib/agent/own-restart.ts";

/** Bugs by which a restart of the agent by itself is told that did not come, is forgotten, or locks up. */
export const ownRestartBugs: readonly Bug[] = [
  {
    name: "the agent's restart is ordered before it is written down",
    file: ownRestart,
    from: `    journal.restarting({ resource, own_run: ownRun, owed: [...owedAfter], result });
    await inTime(clock, (signal) => type.ending.order(type.spec, host, signal));\n`,
    to: `    await inTime(clock, (signal) => type.ending.order(type.spec, host, signal));
    journal.restarting({ resource, own_run: ownRun, owed: [...owedAfter], result });\n`,
    tests: killed,
  },
  {
    name: "the agent's restart is written down, and lost with the power",
    file: "lib/agent/operation-journal.ts",
    from: `this.#append(restart.result.operation_id, record, true);`,
    to: `this.#append(restart.result.operation_id, record, false);`,
    tests: killed,
  },
  {
    name: "the same run of the agent's service counts as another",
    file: ownRestart,
    from: `  if (found === record.own_run && !isOtherBoot) return "interrupted";\n`,
    tests: killed,
  },
  {
    name: "the agent's restart is told before it is ordered",
    file: "lib/state/run/walk.ts",
    from: `  if (!last.isLeft(result)) run.onResult?.(result);`,
    to: `  run.onResult?.(result);`,
    tests: killed,
  },
  {
    name: "a restart of the agent that failed is not owed any more",
    file: "lib/state/run/last-act.ts",
    from: `return { owed: [...before], lastAct`,
    to: `return { owed: before.slice(0, 0).concat(owed), lastAct`,
    tests: ended,
  },
  {
    name: "a restart of the agent that came is still owed",
    file: ownRestart,
    from: `  context.applied.replace(context.applied.resources, record.owed);\n`,
    tests: killed,
  },
  {
    name: "the agent's own service is restarted in its turn",
    file: "lib/state/run/walk.ts",
    from: `    if (putting && (await putting)) continue;\n`,
    tests: ["test/state/own-restart.test.ts"],
  },
];
