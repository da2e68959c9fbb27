import { expect, test } from "vitest";
import type { OperationDetail } from "fleetwright";
import { Declined } from "../../../adapters/cli/failure.ts";
import { agreeToRemovals, type Agreed } from "../../../adapters/cli/removals.ts";

interface Planned {
  status?: string;
  removed: number;
  /** Whether nothing is desired any more. */
  isEmpty?: boolean;
}

const plan = ({ status = "succeeded", removed, isEmpty = false }: Planned): OperationDetail =>
  ({
    operation_id: "p",
    agent_name: "web-1",
    status,
    modules: isEmpty ? [] : [{ name: "web", revision: 1 }],
    counts: {
      total: 9,
      unchanged: 0,
      changed: 0,
      would_change: removed,
      unknown: 0,
      removed,
      failed: 0,
      skipped: 0,
    },
    resources: [],
  }) as unknown as OperationDetail;

const thatPlan = { plan_id: "p" };

test.each<[Planned, { allowEmpty?: boolean; maxRemovals?: number }, Agreed, question: string | null]>([
  [{ removed: 0 }, {}, { max_removals: 0 }, null],
  [{ removed: 0, isEmpty: true }, { allowEmpty: true }, { max_removals: 0 }, null],
  [{ removed: 1 }, {}, thatPlan, "Remove it?"],
  [{ removed: 2 }, {}, thatPlan, "Remove them?"],
  // What did not succeed as a whole can't be applied as a plan.
  ...["partial", "failed"].map((status): [Planned, object, Agreed, string] => [
    { status, removed: 2 },
    {},
    { max_removals: 2 },
    "Remove them?",
  ]),
  // Nobody is asked what would be refused after a yes.
  [{ removed: 2, isEmpty: true }, {}, { max_removals: 0 }, null],
  [{ removed: 2, isEmpty: true }, { allowEmpty: false }, { max_removals: 0 }, null],
  [{ removed: 2, isEmpty: true }, { allowEmpty: true }, thatPlan, "Remove them?"],
  [{ removed: 2 }, { maxRemovals: 0 }, thatPlan, null],
  [{ removed: 2 }, { maxRemovals: 1 }, thatPlan, null],
  [{ removed: 2 }, { maxRemovals: 2 }, thatPlan, "Remove them?"],
  [{ removed: 2 }, { maxRemovals: 3 }, thatPlan, "Remove them?"],
  [{ status: "partial", removed: 2 }, { maxRemovals: 1 }, { max_removals: 0 }, null],
])("a plan of %j is agreed to with %j as %j", async (planned, said, agreed, question) => {
  const asked: string[] = [];
  const answer = (typed: string) => (text: string) => (asked.push(text), Promise.resolve(typed));
  expect(await agreeToRemovals(answer("y"), plan(planned), said)).toEqual(agreed);
  expect(asked.map((text) => /^Remove .*\?/m.exec(text)?.[0])).toEqual(question === null ? [] : [question]);
  const no = agreeToRemovals(answer("n"), plan(planned), said);
  if (question === null) expect(await no).toEqual(agreed);
  else await expect(no).rejects.toThrow(Declined);
});
