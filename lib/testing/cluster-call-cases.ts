/** What a cluster promises of its members and of calls between them. */
import { OrchestratorError } from "../errors.ts";
import type { ClusterCase } from "./cluster-scene.ts";
import { codeWithin } from "./cluster-scene.ts";
import { assertEqual, assertThat } from "./expect.ts";
import { codeOf } from "./transport-scene.ts";

const call = { body: {}, timeoutMs: 1_000 };
const nobody = "00000000000000000000000000000000";
const never = new Promise<never>(() => {});
const mebibyte = 1_048_576;

export const clusterCallCases: ClusterCase[] = [
  {
    promise: 1,
    name: "a member is up from its start to its stop, and has another name after each start",
    async test({ here, start }) {
      assertEqual(here.state, "up", "the state after the start");
      const first = here.name;
      assertThat(first !== "", "a member that has started has no name");
      await here.stop();
      assertEqual(here.state, "down", "the state after the stop");
      await start(here);
      assertEqual(here.state, "up", "the state after the second start");
      assertThat(here.name !== first, "a name was used twice");
    },
  },
  {
    promise: 2,
    name: "a call brings its body, who asks, and the answer back",
    async test({ here, there, calls }) {
      const asked: unknown[] = [];
      calls.set("add", async ({ from, body }) => {
        asked.push(from);
        return { sum: Number(body["a"]) + Number(body["b"]), text: body["text"]! };
      });
      const text = "é\u0000\n\ud800 and so on";
      const answer = await here.call(there.name, "add", { body: { a: 1, b: 2, text }, timeoutMs: 1_000 });
      assertEqual(answer, { sum: 3, text }, "the answer");
      assertEqual(asked, [here.name], "who asked");
    },
  },
  {
    promise: 2,
    name: "many calls at once each get their own answer",
    async test({ here, there, calls }) {
      calls.set("same", async ({ body }) => body);
      const bodies = Array.from({ length: 100 }, (_, index) => ({ index }));
      const answers = await Promise.all(
        bodies.map((body) => here.call(there.name, "same", { body, timeoutMs: 1_000 })),
      );
      assertEqual(answers, bodies, "the answers");
    },
  },
  {
    promise: 3,
    name: "where no such process is, calls and pipes are refused at once",
    async test({ here }) {
      assertEqual(await codeOf(here.call(nobody, "any", call)), "UNAVAILABLE", "a call to nobody");
      assertEqual(await codeOf(here.open(nobody, "any", { body: {} })), "UNAVAILABLE", "a pipe to nobody");
    },
  },
  {
    promise: 3,
    name: "a call that is not answered ends when its time is over, and not before",
    async test({ here, there, calls, clock }) {
      let answer = (): void => {};
      calls.set("wait", () => new Promise((resolve) => (answer = () => resolve({}))));
      let isOver = false;
      const code = codeOf(here.call(there.name, "wait", { body: {}, timeoutMs: 5_000 })).finally(
        () => (isOver = true),
      );
      await clock.advance(4_999);
      assertThat(!isOver, "the call ended before its time");
      await clock.advance(1);
      assertEqual(await code, "UNAVAILABLE", "a call without an answer");
      answer();
    },
  },
  {
    promise: 3,
    name: "a call ends when the process that was asked leaves",
    needs: "peers",
    async test({ here, there, calls }) {
      let begun = (): void => {};
      const isBegun = new Promise<void>((resolve) => (begun = resolve));
      let release = (): void => {};
      calls.set("wait", () => {
        begun();
        return new Promise((resolve) => (release = () => resolve({})));
      });
      const waiting = codeOf(here.call(there.name, "wait", { body: {}, timeoutMs: 60_000 }));
      const { name } = there;
      await isBegun;
      const stopped = there.stop();
      release();
      await stopped;
      assertThat([null, "UNAVAILABLE"].includes(await waiting), "the call had another end");
      assertEqual(await codeOf(here.call(name, "wait", call)), "UNAVAILABLE", "a call afterwards");
    },
  },
  {
    promise: 3,
    name: "a call of which nothing is heard ends when its time is over",
    needs: "cut",
    async test({ here, there, calls, clock, subject }) {
      calls.set("same", async ({ body }) => body);
      subject.cut!(here, there);
      const code = await codeWithin(clock, 1_100, here.call(there.name, "same", call));
      assertEqual(code, "UNAVAILABLE", "a call that was lost");
    },
  },
  {
    promise: 4,
    name: "what a method throws is told with its code, message and details, and of any other error nothing",
    async test({ here, there, calls }) {
      calls.set("refuse", async () => {
        throw new OrchestratorError("IN_USE", { message: "Still wanted.", details: { by: "web" } });
      });
      calls.set("break", async () => {
        throw new TypeError("secret");
      });
      const refused = await here.call(there.name, "refuse", call).catch((error: unknown) => error);
      const { code, message, details } = refused as OrchestratorError;
      assertEqual([code, message, details], ["IN_USE", "Still wanted.", { by: "web" }], "the error");
      const broken = await here.call(there.name, "break", call).catch((error: unknown) => error);
      assertEqual((broken as OrchestratorError).code, "INTERNAL", "the code of any other error");
      assertThat(!String(broken).includes("secret"), "the cause of an error was told");
    },
  },
  {
    promise: 5,
    name: "a method that is not known is refused, for calls and for pipes",
    async test({ here, there, calls, pipes }) {
      calls.set("called", async () => ({}));
      pipes.set("piped", () => never);
      for (const method of ["toString", "piped"])
        assertEqual(await codeOf(here.call(there.name, method, call)), "METHOD_NOT_ALLOWED", method);
      for (const method of ["toString", "called"])
        assertEqual(await codeOf(here.open(there.name, method, call)), "METHOD_NOT_ALLOWED", method);
    },
  },
  {
    promise: 5,
    name: "bodies and answers have 1 MiB, and what is larger spoils nothing else",
    async test({ here, there, calls }) {
      calls.set("length", async ({ body }) => ({ length: String(body["text"]).length }));
      calls.set("text", async ({ body }) => ({ text: "x".repeat(Number(body["length"])) }));
      const most = mebibyte - JSON.stringify({ text: "" }).length;
      const send = (text: string): ReturnType<typeof here.call> =>
        here.call(there.name, "length", { body: { text }, timeoutMs: 10_000 });
      assertEqual(await send("x".repeat(most)), { length: most }, "a body of 1 MiB");
      assertEqual(await codeOf(send("x".repeat(most + 1))), "PAYLOAD_TOO_LARGE", "a larger body");
      assertEqual(await codeOf(send("é".repeat(most / 2 + 1))), "PAYLOAD_TOO_LARGE", "one of more bytes");
      const text = "x".repeat(most + 1);
      const opening = codeOf(here.open(there.name, "any", { body: { text } }));
      assertEqual(await opening, "PAYLOAD_TOO_LARGE", "a larger body of a pipe");
      const get = (length: number): ReturnType<typeof here.call> =>
        here.call(there.name, "text", { body: { length }, timeoutMs: 10_000 });
      assertEqual(await codeOf(get(most + 1)), "PAYLOAD_TOO_LARGE", "a larger answer");
      assertEqual(String((await get(most))["text"]).length, most, "an answer of 1 MiB");
    },
  },
  {
    promise: 10,
    name: "a ring is heard by the others and not by who rings",
    async test({ here, there, rung, calls }) {
      calls.set("same", async ({ body }) => body);
      here.ring(7);
      here.ring(8);
      // What is sent behind the rings comes behind them.
      await here.call(there.name, "same", call);
      const expected = [7, 8].map((position) => [here.name, there.name, position]);
      assertEqual(rung, here === there ? [] : expected, "what was heard");
    },
  },
  {
    promise: 10,
    name: "a ring of a member that is not among the others is nothing",
    async test({ here, rung }) {
      await here.stop();
      here.ring(9);
      assertEqual(rung, [], "what was heard");
    },
  },
];
