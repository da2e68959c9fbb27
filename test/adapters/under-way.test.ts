/** What a call of the product says of what it made or began: whether that goes on, and where to look for it. */
import { expect, test } from "vitest";
import { restProcedures } from "../../adapters/rest/routes.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../adapters/trpc/trpc.ts";

const procedures = restProcedures(appRouter).map(([name, { _def }]) => ({
  name,
  meta: _def.meta as Required<ProcedureMeta>,
}));
const metaOf = (name: string) => procedures.find((each) => each.name === name)!.meta;

const operation = {
  open: ["queued", "running"],
  ended: ["succeeded", "failed", "partial", "cancelled", "timed_out", "interrupted", "unknown"],
};
const rollout = {
  open: ["running", "paused", "stopping"],
  ended: ["succeeded", "partial", "failed", "cancelled"],
};
const check = { open: ["running"], ended: ["in_sync", "drifted", "failed", "cancelled"] };
const underWay: Record<string, typeof operation> = {
  "state.applyNow": operation,
  "state.plan": operation,
  "state.forget": operation,
  "operations.cancel": operation,
  "drift.check": check,
  "assignments.applyNow": rollout,
  "assignments.plan": rollout,
  "rollouts.pause": rollout,
  "rollouts.resume": rollout,
  "rollouts.cancel": rollout,
  "runs.start": rollout,
  "runs.cancel": rollout,
};

test("the table of what goes on behind a call has each of them", () => {
  const dependent = procedures.filter(({ meta }) => typeof meta.rest?.status === "function");
  expect(dependent.map(({ name }) => name).sort()).toEqual(
    [...Object.keys(underWay), "modules.upload"].sort(),
  );
});

test.each(Object.entries(underWay))("%s is 202 for as long as more is to come", (name, { open, ended }) => {
  const statusOf = metaOf(name).rest.status as (output: object) => number;
  expect(Object.fromEntries([...open, ...ended].map((status) => [status, statusOf({ status })]))).toEqual({
    ...Object.fromEntries(open.map((status) => [status, 202])),
    ...Object.fromEntries(ended.map((status) => [status, 200])),
  });
});

const placed = procedures.filter(({ meta }) => meta.rest?.location !== undefined);

test.each(placed.map(({ name }) => name))("%s says where what it tells of can be read", (name) => {
  // Whatever field is asked for has a text that names it.
  const output = new Proxy({}, { get: (_, field) => `the-${String(field)}` });
  const location = (metaOf(name).rest.location as (output: object) => string)(output);
  const readable = procedures
    .filter(({ meta }) => meta.openapi.method === "GET")
    .map(({ meta }) => meta.openapi.path.replaceAll(/\{(\w+)\}/g, "the-$1"));
  expect(readable).toContain(location);
});

test("every call that answers with 201 or 202 says where", () => {
  const told = procedures.filter(({ meta: { rest } }) => {
    const all: readonly unknown[] = rest?.statuses ?? [rest?.status];
    return all.includes(201) || all.includes(202);
  });
  expect(told.map(({ name }) => name)).toEqual(placed.map(({ name }) => name));
});
