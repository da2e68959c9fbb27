/** A transcript in the player of asciinema, which knows nothing of us. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createContext, runInContext } from "node:vm";
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { deferred } from "../support/deferred.ts";
import { openTerminal, textOf } from "../support/open-terminal.ts";

/** Its part that reads recordings and plays them, which a page runs in a worker. */
const player = createRequire(import.meta.url).resolve(
  "asciinema-player/dist/bundle/asciinema-player-worker.min.js",
);

/** What the player tells the page. */
interface Told {
  id?: number;
  result?: unknown;
  error?: { message: string };
  params?: { name: string; event: unknown };
}

interface Size {
  cols: number;
  rows: number;
}

/** Plays a recording to its end, fast. Resolves with what the player gives its screen to draw. */
async function play(data: string): Promise<{ output: string; sizes: string[]; seconds: unknown }> {
  const ended = deferred();
  const answers = new Map<number, (told: Told) => void>();
  const sizes: string[] = [];
  let output = "";
  let failure: unknown = null;
  const noteSize = ({ cols, rows }: Size): unknown => sizes.push(`${cols}x${rows}`);
  const heard: Record<string, (event: never) => unknown> = {
    output: (texts: string[]) => (output += texts.join("")),
    reset: ({ size }: { size: Size }) => noteSize(size),
    resize: noteSize,
    ended: ended.resolve,
    error(event: unknown) {
      failure = event;
      ended.resolve();
    },
  };
  const worker = createContext({
    performance,
    Response,
    TextDecoder,
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval,
    postMessage({ id, params, ...answer }: Told) {
      if (id !== undefined) answers.get(id)?.(answer);
      else if (params) heard[params.name]?.(params.event as never);
    },
  }) as { onmessage: (message: { data: object }) => void };
  runInContext(readFileSync(player, "utf8"), worker);
  const tell = (method: string, params?: unknown): void => worker.onmessage({ data: { method, params } });
  const ask = (method: string, params?: unknown): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = answers.size + 1;
      answers.set(id, ({ result, error }) => (error ? reject(new Error(error.message)) : resolve(result)));
      worker.onmessage({ data: { id, method, params } });
    });
  await ask("new", [{ data }, { speed: 1_000 }]);
  for (const name of Object.keys(heard)) tell("addEventListener", [name]);
  tell("terminalReady");
  await ask("init");
  await ask("play");
  await ended.promise;
  expect(failure).toBeNull();
  return { output, sizes, seconds: await ask("getDuration") };
}

it("plays as it was seen, with its sizes and its time", async () => {
  await using scene = await openTerminal({ cols: 90, rows: 25 });
  const { session_id, ticket } = scene.opened;
  const viewer = scene.attach(ticket);
  await viewer.next("opened");
  viewer.say({ type: "resize", cols: 120, rows: 40 });
  viewer.type("printf '\\033[31mred\\033[0m gr\\303'; sleep 0.1; printf '\\274n \\360\\237\\216\\211\\n'\n");
  await viewer.shows(/🎉\r\n/);
  await scene.test.clock.advance(5_000);
  viewer.type("seq 1 20000; exit\n");
  await viewer.next("closed");
  const cast = await textOf(await scene.terminals.transcript(systemCaller, { session_id }));
  const { output, sizes, seconds } = await play(cast);
  expect(output).toBe(viewer.text);
  expect(output).toContain("\u001b[31mred\u001b[0m grün 🎉\r\n");
  expect(output).toContain("\r\n19999\r\n20000\r\n");
  expect(sizes).toEqual(["90x25", "120x40"]);
  expect(seconds).toBeCloseTo(5, 0);
});
