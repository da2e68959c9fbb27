/** What the client's calls take is what the server takes: these tests say something to `tsc` alone. */
import type { inferRouterInputs } from "@trpc/server";
import { describe, expectTypeOf, it } from "vitest";
import type { Client, Input, NewAssignment, RunInput } from "fleetwright/client";
import type { AppRouter } from "fleetwright/trpc";

type Asked = inferRouterInputs<AppRouter>;
type Told<Call extends (...inputs: never[]) => unknown, At extends number> = NonNullable<
  Parameters<Call>[At]
>;

describe("the inputs of the client", () => {
  it("have the fields of the procedures, no more and no fewer", () => {
    expectTypeOf<keyof Told<Client["agents"]["list"], 0>>().toEqualTypeOf<keyof Asked["agents"]["list"]>();
    expectTypeOf<keyof Told<Client["state"]["apply"], 1> | "node_id">().toEqualTypeOf<
      keyof Asked["state"]["applyNow"]
    >();
    expectTypeOf<keyof Told<Client["state"]["plan"], 1> | "node_id">().toEqualTypeOf<
      keyof Asked["state"]["plan"]
    >();
    expectTypeOf<keyof Told<Client["assignments"]["update"], 1> | "name">().toEqualTypeOf<
      keyof Asked["assignments"]["update"]
    >();
    expectTypeOf<keyof Told<Client["audit"]["prune"], 0>>().toEqualTypeOf<keyof Asked["audit"]["prune"]>();
    expectTypeOf<keyof Told<Client["events"]["stream"], 0> | "lastEventId">().toEqualTypeOf<
      keyof Asked["events"]["stream"]
    >();
  });

  it("are none that the compiler does not check", () => {
    expectTypeOf<Told<Client["agents"]["list"], 0>["status"]>().toEqualTypeOf<
      "pending" | "approved" | "rejected" | undefined
    >();
    expectTypeOf<RunInput["expires_in_seconds"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<RunInput>().not.toBeAny();
    expectTypeOf<NewAssignment["selector"]>().toEqualTypeOf<string>();
  });

  it("take lists that may not be changed", () => {
    expectTypeOf<{ modules: readonly ["web"] }>().toExtend<RunInput>();
    expectTypeOf<NewAssignment["modules"]>().toEqualTypeOf<readonly string[]>();
  });

  it("refuse what the server would refuse", () => {
    const calls = ({ agents, assignments, operations, operators, state }: Client) => [
      state.apply("n", { expires_in_seconds: 60, when_offline: "queue" }),
      assignments.update("web", { rollout: null, schedule: null }),
      // @ts-expect-error There is no such filter.
      agents.list({ selektor: "x" }),
      // @ts-expect-error There is no such status.
      agents.list({ status: "waiting" }),
      // @ts-expect-error A plan is made of modules, not of another plan.
      state.plan("n", { plan_id: "p" }),
      // @ts-expect-error The agent stands in the path.
      state.apply("n", { node_id: "n" }),
      // @ts-expect-error The server wants a number.
      state.apply("n", { timeout_seconds: "60" }),
      state.apply("n", { params: { port: 80, hosts: ["a", { b: null }] } }),
      // @ts-expect-error A function is no JSON.
      state.apply("n", { params: { port: () => 80 } }),
      // @ts-expect-error An assignment keeps its name.
      assignments.update("web", { name: "mail" }),
      // @ts-expect-error There is no such kind.
      operations.list({ kind: "check" }),
      // @ts-expect-error There is no such role.
      operators.setRole("o", { role: "Root" }),
    ];
    expectTypeOf(calls).toBeFunction();
  });

  it("name schemas and parts of paths that there are", () => {
    expectTypeOf<Input<"planInput", "node_id">>().not.toHaveProperty("node_id");
    // @ts-expect-error There is no such schema.
    expectTypeOf<Input<"plannInput">>().toBeObject();
    // @ts-expect-error A plan has no such field.
    expectTypeOf<Input<"planInput", "nodeId">>().toBeObject();
  });
});
