import { expect, test } from "vitest";
import type { CommandCall } from "../../../adapters/cli/call.ts";
import { describeAway, UsageError } from "../../../adapters/cli/failure.ts";
import { whileGoingOn } from "../../../adapters/cli/going-on.ts";
import { outputFormats } from "../../../adapters/cli/output.ts";
import { ApiError } from "../../../adapters/client/api-error.ts";

const refusal = (status: number): ApiError =>
  new ApiError({ type: "about:blank", title: "No.", status, detail: "No.", code: "UNAVAILABLE" });
const howTo = "Follow it: fleetwright rollouts watch 7; end it: fleetwright rollouts cancel 7";

/** What is said of a rollout whose waiting comes to that, and whether a signal would have it told afterwards. */
async function wait(end: () => Promise<string>) {
  const told: unknown[] = [];
  const kept = new Set<string>();
  const context = {
    sayWhenEnded: (text: string) => {
      kept.add(text);
      return () => void kept.delete(text);
    },
  };
  const call = {
    context,
    tellGoingOn: (...said: unknown[]) => void told.push(said),
  } as unknown as CommandCall;
  const during: string[] = [];
  const result = await whileGoingOn(call, { kind: "rollout", id: "7" }, () => {
    during.push(...kept);
    return end();
  }).catch((error: unknown) => error);
  return { result, told, during, after: [...kept] };
}

test("who waits is told of what goes on where a signal comes, and not once it has ended", async () => {
  expect(await wait(() => Promise.resolve("done"))).toEqual({
    result: "done",
    told: [],
    during: [`\nThe rollout goes on. ${howTo}\n`],
    after: [],
  });
});

test.each([
  ["the server is away", refusal(0)],
  ["the session has ended", refusal(401)],
  ["the server is broken", refusal(500)],
  ["nobody expected it", new UsageError("x")],
])("where %s who waited is told how to find it again", async (_, error) => {
  const { result, told, after } = await wait(() => Promise.reject(error));
  expect([result, after]).toEqual([error, []]);
  expect(told).toEqual([[`The end of the rollout was not seen. ${howTo}`, { rollout_id: "7" }]]);
});

test("nobody is told how to find a rollout again that there is not", async () => {
  const error = refusal(404);
  const { result, told, after } = await wait(() => Promise.reject(error));
  expect([result, told, after]).toEqual([error, [], []]);
});

test.each(outputFormats)("that a server is waited for is a problem in JSON, and else text: %s", (format) => {
  const said = describeAway(refusal(0), format);
  if (format === "json")
    expect(JSON.parse(said)).toMatchObject({ status: 0, detail: "No. Waiting for the server." });
  else expect(said).toBe("No. Waiting for the server.\n");
});
