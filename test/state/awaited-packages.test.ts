/** Lists of packages whose next version is not brought about: what both want is ours for as long as the next one is awaited. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../lib/json.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import type { StateRunResult } from "../../lib/state/run/engine.ts";
import type { StateRunOptions } from "../../lib/state/run/state-run.ts";
import { AptMachine } from "../support/machine/apt.ts";
import { declare, StateFixture } from "../support/state-fixture.ts";

const archive = { nginx: ["1.21", "1.22"], curl: ["8.0"], jq: ["1.6"] };

function start() {
  const machine = new AptMachine({ archive: { ...archive } });
  const state = new StateFixture(machine.host);
  const apply = (
    module: string,
    definitions: JsonObject[],
    options: Partial<StateRunOptions> = {},
  ): Promise<StateRunResult> =>
    state.run("apply", lists(module, definitions), { scope: [module], ...options });
  return { machine, state, apply };
}

function lists(module: string, definitions: JsonObject[]): ResolvedResource[] {
  return declare(
    definitions.map((definition, at) => ({ id: `p${at}`, type: "package", ...definition })),
    module,
  );
}

/** A list that can't be brought about, as "ghost" is in no archive. */
const failing = (...names: string[]): JsonObject[] => [{ name: [...names, "ghost"] }];

describe("a version of a list that failed", () => {
  test.each<[string, JsonObject, JsonObject]>([
    ["a version of the one before", { name: "nginx", version: "1.21" }, { name: "nginx", version: "1.22" }],
    ["a package of the one before alone", { name: ["nginx", "curl"] }, { name: "curl", ensure: "absent" }],
  ])("claims nothing against another module: %s", async (_what, before, other) => {
    const { machine, apply } = start();
    await apply("a", [before]);
    expect((await apply("a", failing("nginx"))).status).not.toBe("succeeded");
    expect((await apply("b", [other])).status).toBe("succeeded");
    await apply("b", []);
    await apply("a", []);
    expect(machine.list()).toEqual([]);
  });

  test("knows nothing of a package that went with the one before, and that another module brings", async () => {
    const { machine, state, apply } = start();
    await apply("a", [{ name: ["nginx", "curl"] }]);
    await apply("a", failing("nginx"));
    await apply("b", [{ name: "curl" }]);
    await apply("b", []);
    expect(machine.list()).toEqual(["nginx 1.22"]);
    await apply("a", []);
    expect(machine.list()).toEqual([]);
    expect(state.applied).toEqual([]);
  });

  test("is of the module that has the list now", async () => {
    const { machine, state, apply } = start();
    await state.run("apply", lists("a", [{ name: ["nginx", "curl"] }]));
    await state.run("apply", lists("b", failing("nginx")));
    await apply("b", [{ name: "nginx" }]);
    await apply("b", []);
    expect(machine.list()).toEqual([]);
    expect(state.applied).toEqual([]);
  });

  test("takes away nothing that the owner had before it, and captures the rest when it is brought about", async () => {
    const { machine, apply } = start();
    machine.install("curl", "8.0");
    await apply("a", [{ name: ["nginx", "curl"] }]);
    await apply("a", failing("nginx", "jq"));
    machine.install("jq", "1.6");
    Object.assign(machine.archive, { ghost: ["1"] });
    expect((await apply("a", failing("nginx", "jq"))).status).toBe("succeeded");
    // What was there before it is put back, and is not the list's for that.
    machine.installed.delete("jq");
    await apply("a", failing("nginx", "jq"));
    await apply("a", []);
    expect(machine.list()).toEqual(["curl 8.0", "jq 1.6"]);
  });

  test("knows what was there before it was brought about, and is put back later", async () => {
    const { machine, apply } = start();
    machine.install("curl", "8.0");
    await apply("a", [{ name: "nginx" }]);
    const list = failing("nginx", "curl");
    await apply("a", list);
    machine.install("ghost", "1");
    for (const lost of ["nginx", "curl"]) {
      machine.installed.delete(lost);
      expect((await apply("a", list)).status).toBe("succeeded");
    }
    await apply("a", []);
    expect(machine.list()).toEqual(["curl 8.0", "ghost 1"]);
  });

  test("leaves nothing for an apply that holds removals back to tell of once it is brought about", async () => {
    const { machine, state, apply } = start();
    await apply("a", [{ name: ["nginx", "curl"] }]);
    await apply("a", failing("nginx"));
    Object.assign(machine.archive, { ghost: ["1"] });
    const { results } = await apply("a", failing("nginx"), { holdRemovals: true });
    expect(results.map(({ outcome, skipped_because }) => [outcome, skipped_because])).toEqual([
      ["changed", undefined],
    ]);
    await apply("a", []);
    expect(machine.list()).toEqual([]);
    expect(state.applied).toEqual([]);
  });

  test("awaits nothing where its condition does not hold: then nobody wants what the one before brought", async () => {
    const { machine, state } = start();
    await state.run("apply", lists("a", [{ name: "nginx" }]));
    const next = lists("a", failing("nginx")).map((resource) => ({
      ...resource,
      skip: "condition" as const,
    }));
    await state.run("apply", next);
    expect(machine.list()).toEqual([]);
    expect(state.applied).toEqual([]);
  });

  test("is awaited in as many lists as share what there was", async () => {
    const { machine, state, apply } = start();
    await apply("a", [{ name: ["nginx", "curl", "jq"] }]);
    await apply("a", [...failing("nginx", "curl"), ...failing("curl", "jq")]);
    expect(machine.list()).toEqual(["curl 8.0", "jq 1.6", "nginx 1.22"]);
    await apply("a", failing("nginx", "curl"));
    await apply("a", []);
    expect(machine.list()).toEqual([]);
    expect(state.applied).toEqual([]);
  });
});

describe("a package of two lists that become one", () => {
  test.each([[["nginx", "curl"]], [["curl", "nginx"]]])(
    "is what it was before the first of them: %s",
    async (first) => {
      const { machine, state, apply } = start();
      const parts = [{ name: first }, { name: ["curl", "jq"], hold: true }];
      await apply("m", parts);
      await apply("m", [{ name: ["nginx", "curl", "jq"], hold: true }]);
      await apply("m", []);
      expect(machine.list()).toEqual([]);
      expect(state.applied).toEqual([]);
    },
  );
});
