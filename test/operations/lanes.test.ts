/** The line of each agent: what is next, what holds up nobody, and what is looked at again. */
import { beforeEach, describe, expect, test } from "vitest";
import type { OperationDocument } from "../../lib/operations/documents.ts";
import { Lanes } from "../../lib/operations/lanes.ts";
import { operationDocument } from "../support/operation-document.ts";

const operationOf = (operation_id: string, more: Partial<OperationDocument> = {}): OperationDocument =>
  operationDocument({ operation_id, node_id: "a", ...more });
const nobodyAsked = { isUnanswered: () => false };

let lanes: Lanes;
beforeEach(() => {
  lanes = new Lanes();
});
const join = (operation: OperationDocument, isHeld = false): void => lanes.join(operation, { isHeld });
const head = (): string | undefined => lanes.head("a", nobodyAsked);

test("who comes first is first, of each agent, until it leaves", () => {
  for (const id of ["1", "2"]) join(operationOf(id));
  join(operationOf("3", { node_id: "b" }));
  expect([head(), lanes.head("b", nobodyAsked), lanes.waiting()]).toEqual(["1", "3", ["a", "b"]]);
  lanes.leave("a", "1");
  expect(head()).toBe("2");
  lanes.leave("a", "2");
  expect([head(), lanes.waiting()]).toEqual([undefined, ["b"]]);
});

describe("what may not begin holds up nobody", () => {
  beforeEach(() => {
    join(operationOf("1"), true);
    for (const id of ["2", "3"]) join(operationOf(id));
  });

  test("where it waits for an operator's word, until that comes, or it leaves", () => {
    expect([head(), lanes.isHeld("1"), lanes.isHeld("2")]).toEqual(["2", true, false]);
    lanes.release();
    expect([head(), lanes.isHeld("1")]).toEqual(["1", false]);
  });

  test("where a maintenance window holds it, until that lets it go", () => {
    lanes.hold("2");
    expect([head(), lanes.isHeld("2")]).toEqual(["3", true]);
    lanes.release();
    expect([head(), lanes.isHeld("2")]).toEqual(["1", true]);
    lanes.leave("a", "1");
    expect(head()).toBe("3");
    lanes.letGo("2");
    expect([head(), lanes.isHeld("2")]).toEqual(["2", false]);
  });

  test("where its agent is asked about it", () => {
    const asked = { isUnanswered: (id: string) => id !== "3" };
    expect(lanes.head("a", asked)).toBe("3");
  });
});

describe("what waits for its agent", () => {
  const removing = operationOf("1", { grounds: { named: {}, removed: { web: "0" } } });
  const repeating = operationOf("2", { repeats: "0" });
  const other = operationOf("3");
  const patient = (): string[] => ["1", "2", "3"].filter((id) => lanes.isPatient(id));
  beforeEach(() => {
    const all = [removing, repeating, other];
    for (const each of all) join(each);
    for (const each of all) lanes.waits(each);
  });

  test.each<[string, Partial<OperationDocument>, string[]]>([
    ["an apply of something else", { modules: [{ name: "base", revision: 1 }] }, ["1", "3"]],
    ["an apply of what one takes away", { modules: [{ name: "web", revision: 1 }] }, ["3"]],
    [
      "an apply of that among others",
      { modules: ["base", "web"].map((name) => ({ name, revision: 1 })) },
      ["3"],
    ],
    ["a call that names what one takes away", { named: { web: {} } }, ["3"]],
    ["a forgetting", { kind: "forget" }, ["1", "3"]],
    [
      "a plan of what one takes away",
      { kind: "plan", modules: [{ name: "web", revision: 1 }] },
      ["1", "2", "3"],
    ],
    ["a run", { kind: "run" }, ["1", "2", "3"]],
    ["an apply for another agent", { node_id: "b", named: { web: {} } }, ["1", "2", "3"]],
  ])("is looked at again where %s may overtake it", (_, more, left) => {
    join(operationOf("9", more));
    expect(patient()).toEqual(left);
  });

  test("is looked at again once what ran has ended, and not for the end of anything else", () => {
    lanes.of("a").running = {
      operationId: "0",
      commandId: null,
      cancelId: null,
      deadlineAt: 0,
      isDoubted: false,
    };
    lanes.end("a", "2");
    expect([patient(), lanes.of("a").running?.operationId]).toEqual([["1", "3"], "0"]);
    lanes.end("a", "0");
    expect([patient(), lanes.of("a").running]).toEqual([[], null]);
  });

  test("is looked at again when everything is", () => {
    lanes.lookAgain();
    expect(patient()).toEqual([]);
  });
});

test("an agent refuses whatever it is sent until it takes something", () => {
  for (let time = 0; time < 3; time += 1) lanes.answered("a", "STORAGE_FULL");
  expect(lanes.refusing()).toEqual([{ node_id: "a", code: "STORAGE_FULL" }]);
  lanes.answered("a", null);
  expect(lanes.refusing()).toEqual([]);
});

test("the line of an agent is one and the same while somebody takes from it, or something runs", () => {
  const running = { operationId: "1", commandId: null, cancelId: null, deadlineAt: 0, isDoubted: false };
  const line = lanes.of("a");
  line.taking = true;
  lanes.end("a", "0");
  expect(lanes.of("a")).toBe(line);
  line.running = running;
  lanes.taken("a");
  expect([lanes.of("a"), line.taking, lanes.runningOf("a")]).toEqual([line, false, running]);
  lanes.end("a", "1");
  expect([lanes.runningOf("a"), lanes.of("a") === line]).toEqual([null, false]);
});

test("an agent that gets no work any more is none that refuses it, and what waits for it is told", () => {
  for (let time = 0; time < 3; time += 1) lanes.answered("a", "STORAGE_FULL");
  for (const id of ["1", "2"]) join(operationOf(id));
  expect(lanes.refusing()).toEqual([{ node_id: "a", code: "STORAGE_FULL" }]);
  expect([lanes.dismiss("a"), lanes.dismiss("b"), lanes.refusing()]).toEqual([["1", "2"], [], []]);
});
