/** Every change that goes by the version of what was seen, over REST. */
import { expect, test } from "vitest";
import { restProcedures } from "../../adapters/rest/routes.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../adapters/trpc/trpc.ts";
import { playExampleCalls } from "../support/example-calls.ts";
import { copyOf, Life } from "../support/interrupted-call.ts";

const conditional = [...restProcedures(appRouter)]
  .filter(([, { _def }]) => (_def.meta as ProcedureMeta).rest?.conditional === true)
  .map(([name]) => name);

test("a call that goes by a version is refused with another one, and changes nothing", async () => {
  const tried = new Map<string, unknown>();
  await playExampleCalls(undefined, undefined, async (moment) => {
    const { procedure } = moment;
    if (!conditional.includes(procedure) || tried.has(procedure)) return;
    await using life = await Life.start(moment, { data: copyOf(moment.storage), hasMachine: false });
    const before = await life.stored();
    const { status } = await life.send(moment, { "if-match": '"999999"' });
    tried.set(procedure, {
      status,
      hasChanged: JSON.stringify(await life.stored()) !== JSON.stringify(before),
    });
  });
  const wanted = conditional.map((name) => [name, { status: 412, hasChanged: false }]);
  expect(Object.fromEntries(tried)).toEqual(Object.fromEntries(wanted));
});
