/** Terminals over real WebSockets, with the client that pages use. */
import { expect, it, vi } from "vitest";
import { attachTerminal, type TerminalMessage } from "../../../adapters/client/terminal.ts";
import { deferred } from "../../support/deferred.ts";
import { startViewerScene, type ViewerScene } from "../../support/viewer-scene.ts";
import { waitFor } from "../../support/wait-for.ts";

async function attached(scene: ViewerScene, headers: Record<string, string> = {}) {
  const messages: TerminalMessage[] = [];
  const pieces: Buffer[] = [];
  const ended = deferred();
  const { websocket_url, ticket } = scene.terminal.opened;
  const terminal = attachTerminal(
    `http://127.0.0.1:${scene.server.port}`,
    { websocket_url, ticket },
    {
      connect: () => scene.connect({ headers }) as never,
      output: (bytes) => void pieces.push(Buffer.from(bytes)),
      message: (message) => messages.push(message),
      ended: ended.resolve,
    },
  );
  await waitFor(() => expect(messages).toContainEqual(expect.objectContaining({ type: "opened" })));
  const text = (): string => Buffer.concat(pieces).toString();
  return {
    terminal,
    messages,
    text,
    ended: ended.promise,
    type: (line: string) => terminal.type(Buffer.from(line)),
  };
}

it("a terminal is typed to, resized and ends with its exit code, over the subprotocol", async () => {
  await using scene = await startViewerScene();
  const { terminal, messages, text, ended, type } = await attached(scene);
  terminal.resize(100, 30);
  type("stty size; echo 🎉; exit 3\n");
  await ended;
  expect(text()).toMatch(/30 100\r\n🎉\r\n/);
  expect(messages.at(-2)).toEqual({ type: "exit", exit_code: 3 });
  expect(messages.at(-1)).toEqual({ type: "closed", status: "closed", reason: "exit" });
});

it("what is pasted waits for a program that answers eight times as much, and neither stops the other", async () => {
  await using scene = await startViewerScene();
  const { text, type } = await attached(scene);
  type(
    "stty raw -echo; echo go-$((1+1)); head -c 600000 | sed s/x/yyyyyyyy/g | tr -d '\\n'; echo over-$((1+1))\n",
  );
  await waitFor(() => expect(text()).toContain("go-2"));
  type(`${"x".repeat(99)}\n`.repeat(6_000));
  await vi.waitFor(() => expect(text().includes("over-2")).toBe(true), 30_000);
  const [, answered = ""] = text().split("go-2");
  expect(answered.replaceAll(/[^y]/g, "")).toHaveLength(8 * 99 * 6_000);
});

it("whose it is says the ticket, not what else the request brings", async () => {
  await using scene = await startViewerScene();
  const { token } = await scene.terminal.test.signIn("Viewer", "eve");
  const { messages } = await attached(scene, { authorization: `Bearer ${token}` });
  expect(messages[0]).toMatchObject({ type: "opened", types: true });
});

it("what is typed and asked for before the terminal is attached to waits for that", async () => {
  await using scene = await startViewerScene();
  const ended = deferred();
  let text = "";
  const terminal = attachTerminal(`http://127.0.0.1:${scene.server.port}`, scene.terminal.opened, {
    connect: () => scene.connect() as never,
    output: (bytes) => void (text += Buffer.from(bytes).toString()),
    ended: ended.resolve,
  });
  terminal.resize(101, 31);
  terminal.type(Buffer.from("stty size; exit\n"));
  await ended.promise;
  expect(text).toMatch(/31 101\r\n/);
});

it("a viewer whose output fails leaves, and hears that it is over", async () => {
  await using scene = await startViewerScene();
  const ended = deferred();
  let calls = 0;
  attachTerminal(`http://127.0.0.1:${scene.server.port}`, scene.terminal.opened, {
    connect: () => scene.connect() as never,
    output() {
      calls += 1;
      return Promise.reject(new Error("The page is gone."));
    },
    ended: ended.resolve,
  });
  await ended.promise;
  expect(calls).toBe(1);
});
