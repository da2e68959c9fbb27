/** Every verb of the client has a command. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { routes } from "../../../adapters/client/routes.ts";
import { appRouter } from "../../../adapters/trpc/router.ts";

/** Verbs without a command, and why. */
const exceptions: Readonly<Record<string, string>> = {
  "operations.listForAgent": "`operations list --agent` asks `operations.list`",
  "metrics.prometheus": "is for programs that scrape",
};

/** Procedures of the router that are no verb of the client, and what has a command in their place. */
const elsewhere: Readonly<Record<string, string>> = {
  "auth.challenge": "a part of `login`",
  "auth.verify": "a part of `login`",
  "auth.signOut": "`logout`: client.signOut",
  "assignments.applyNow": "`assignments apply`, as assignments.apply",
  "state.applyNow": "`apply`, as state.apply",
  "operations.watch": "`apply` and `plan`, as operations.watch",
  "events.stream": "has no command yet",
};

/** Verbs that are called by a name in a variable, and what stands in the source. */
const named: Readonly<Record<string, string>> = {
  "rollouts.pause": "rollouts[verb]",
  "rollouts.resume": "rollouts[verb]",
  "rollouts.cancel": "rollouts[verb]",
  "agents.refreshAttributes": "verbs.refreshAttributes",
  "audit.getRetention": "verbs.getRetention",
  "audit.setRetention": "verbs.setRetention",
  "drift.list": "verbs.list(node_id",
  "drift.latest": "verbs.latest(node_id",
  "drift.check": "verbs.check(node_id",
};

const folder = join(import.meta.dirname, "../../../adapters/cli");
const source = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => readFileSync(join(folder, name), "utf8"))
  .join("\n");
const verbs = Object.entries(routes).flatMap(([group, all]) =>
  Object.keys(all).map((verb) => `${group}.${verb}`),
);

it("has a command for each verb, but for those that are named here with a reason", () => {
  const isCalled = (verb: string): boolean =>
    new RegExp(`\\b${verb.replaceAll(".", "\\.")}\\b`).test(source) ||
    (named[verb] !== undefined && source.includes(named[verb]));
  expect(verbs.filter((verb) => !isCalled(verb)).toSorted()).toEqual(Object.keys(exceptions).toSorted());
  expect(Object.keys(named).filter((verb) => !verbs.includes(verb))).toEqual([]);
  console.info(`${verbs.length} verbs, ${Object.keys(exceptions).length} without a command.`);
});

it("leaves out no procedure of the router", () => {
  const procedures = Object.keys((appRouter as unknown as { _def: { procedures: object } })._def.procedures);
  const left = procedures.filter((name) => !verbs.includes(name));
  expect(left.toSorted()).toEqual(Object.keys(elsewhere).toSorted());
});
