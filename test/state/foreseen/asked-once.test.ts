/** A plan asks each question once, and takes no answer for that of another question. */
import { expect, test } from "vitest";
import type { HostCommand } from "../../../lib/host/host.ts";
import { ForeseenHost } from "../../../lib/state/foreseen/foreseen-host.ts";
import { createMachine } from "../../support/state-fixture.ts";

const question: HostCommand = { argv: ["ask"], asks: true };
const others: Record<string, Partial<HostCommand>> = {
  "other arguments": { argv: ["ask", "more"] },
  "the same words in other arguments": { argv: ["ask", "more than one"] },
  "another folder": { cwd: "/srv" },
  "another user": { user: "web" },
  "another environment": { environment: { LANG: "C" } },
  "another input": { stdin: "text" },
  "another file": { opens: { "%": "/srv/file" } },
};

function createScene() {
  let asked = 0;
  const below = createMachine({ ask: () => ({ stdout: `answer ${(asked += 1)}` }) });
  below.files.makeDirectory("/srv", {});
  below.files.writeFile("/srv/file", Buffer.from("x"), { mode: 0o644 });
  const host = new ForeseenHost(below);
  const ask = async (more: Partial<HostCommand>, { signal } = new AbortController()): Promise<string> =>
    (await host.run({ ...question, ...more }, signal)).stdout;
  return { ask, host, asked: () => asked };
}

test.each(Object.entries(others))("%s make another question", async (_what, more) => {
  const { ask, host, asked } = createScene();
  expect(await ask({})).toBe("answer 1");
  expect(await ask(more)).toBe("answer 2");
  // Also for the next resource.
  host.forgetQuestions();
  expect(await ask(more)).toBe("answer 2");
  expect(await ask({})).toBe("answer 1");
  expect(asked()).toBe(2);
});

test("all of them are questions of their own", async () => {
  const { ask, asked } = createScene();
  const answers: string[] = [];
  for (const more of Object.values(others)) answers.push(await ask(more));
  expect(new Set(answers).size).toBe(answers.length);
  expect(asked()).toBe(answers.length);
});

test("what one resource could not be told, and on what a refusal rests, is forgotten for the next", () => {
  const { host } = createScene();
  host.cannotTell("nobody can be asked");
  host.cannotTell("it has to be downloaded first");
  host.refusalRestsOn(["/etc/hosts"]);
  expect([host.untold, host.restingPlaces]).toEqual(["nobody can be asked", ["/etc/hosts"]]);
  host.forgetQuestions();
  expect([host.untold, host.restingPlaces]).toEqual([null, []]);
});

test("what a question that was ended says is no answer for the next who asks", async () => {
  const { ask, asked } = createScene();
  const ended = new AbortController();
  const asking = ask({}, ended);
  ended.abort();
  await asking.catch(() => "ended");
  expect(await ask({})).toBe(`answer ${asked()}`);
  expect(asked()).toBe(2);
});
