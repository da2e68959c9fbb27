import { initTRPC } from "@trpc/server";
import type { AnyProcedure } from "@trpc/server";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { chainCall, createProcedureCall } from "../../../adapters/trpc/direct-call.ts";
import { toOrchestratorError } from "../../../adapters/trpc/error-map.ts";
import { Toy, toyContexts, toyRouter } from "../toy.ts";

const context = () =>
  toyContexts(new Toy())({ request_id: "r", source_address: null, if_match: null }, "Bearer fw_good");
const procedure = (path: string): AnyProcedure =>
  (toyRouter._def.procedures as unknown as Record<string, AnyProcedure>)[path] as AnyProcedure;

async function outcome(run: Promise<unknown>): Promise<unknown> {
  try {
    return { output: await run };
  } catch (thrown) {
    const { code, message, issues, details } = toOrchestratorError(thrown);
    return { code, message, issues, details };
  }
}

describe("a direct call does what tRPC's chain does", () => {
  test.each<[string, unknown]>([
    ["machines.get", { name: "web-1" }],
    ["machines.get", { name: "none" }],
    ["machines.get", { name: 1 }],
    ["machines.get", undefined],
    ["machines.list", { nope: 1, limit: "x" }],
    ["machines.list", {}],
    ["machines.remove", { name: "web-1" }],
    ["me", undefined],
    ["fail", { how: "module" }],
    ["fail", { how: "bug" }],
    ["leak", undefined],
  ])("%s(%j)", async (path, input) => {
    const direct = await outcome(createProcedureCall(toyRouter, path, procedure(path))(context(), input));
    const chained = await outcome(chainCall(toyRouter, path, procedure(path))(context(), input));
    expect(direct).toEqual(chained);
  });

  test("a procedure with a link of its own keeps it", async () => {
    const t = initTRPC.context<object>().create();
    const linked = t.procedure
      .use(({ next }) => next({ ctx: { added: 7 } }))
      .output(z.number())
      .query(({ ctx }) => ctx.added);
    const router = t.router({ linked });
    expect(await createProcedureCall(router, "linked", linked)({}, undefined)).toBe(7);
  });

  test("a link of its own is kept where nothing else is declared, and so is a parser that is no schema", async () => {
    const t = initTRPC.context<object>().create();
    const linked = t.procedure.use(({ next }) => next({ ctx: { added: 7 } })).query(({ ctx }) => ctx.added);
    const parsed = t.procedure.input((value: unknown) => `${String(value)}!`).query(({ input }) => input);
    const checked = t.procedure.output((value: unknown) => `${String(value)}?`).query(() => "out");
    const router = t.router({ linked, parsed, checked });
    expect(await createProcedureCall(router, "linked", linked)({}, undefined)).toBe(7);
    expect(await createProcedureCall(router, "parsed", parsed)({}, "in")).toBe("in!");
    expect(await createProcedureCall(router, "checked", checked)({}, undefined)).toBe("out?");
  });

  test("two inputs are both looked at, and answered together", async () => {
    const t = initTRPC.context<object>().create();
    const both = t.procedure
      .input(z.object({ name: z.string() }))
      .input(z.object({ level: z.number() }))
      .query(({ input }) => input);
    const call = createProcedureCall(t.router({ both }), "both", both);
    expect(await call({}, { name: "web-1", level: 2 })).toEqual({ name: "web-1", level: 2 });
    await expect(call({}, { name: "web-1", level: "high" })).rejects.toMatchObject({ code: "BAD_REQUEST" });
    await expect(call({}, { name: 1, level: 2 })).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  test("schemas that take time are waited for", async () => {
    const t = initTRPC.context<object>().create();
    const slow = t.procedure
      .input(z.string().refine(async (text) => text === "yes"))
      .output(z.number().refine(async (value) => value === 3))
      .query(({ input }) => input.length);
    const call = createProcedureCall(t.router({ slow }), "slow", slow);
    expect(await call({}, "yes")).toBe(3);
    await expect(call({}, "no")).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });
});
