/** Attaching to a terminal, word by word: what is sent over the socket, when, and what becomes of what comes. */
import { expect, test } from "vitest";
import { attachTerminal, type TerminalMessage } from "fleetwright/client";

type Listener = (event: { data: unknown }) => void;

/** A socket whose other end is the test. */
class HandSocket {
  binaryType = "";
  readyState = 0;
  readonly sent: (string | Uint8Array)[] = [];
  closed: number | undefined;
  readonly #listeners = new Map<string, Listener>();

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, listener);
  }
  send(data: string | Uint8Array): void {
    this.sent.push(data);
  }
  close(code?: number): void {
    this.closed = code;
  }

  open(): void {
    this.readyState = 1;
    this.#listeners.get("open")!({ data: null });
  }
  say(message: object): void {
    this.#listeners.get("message")!({ data: JSON.stringify(message) });
  }
  show(text: string): void {
    this.#listeners.get("message")!({ data: new TextEncoder().encode(text).buffer });
  }
  end(): void {
    this.readyState = 3;
    this.#listeners.get("error")!({ data: null });
    this.#listeners.get("close")!({ data: null });
  }
  /** How many bytes were sent in each piece of input. */
  pieces(): number[] {
    return this.sent.filter((each) => typeof each !== "string").map(({ length }) => length);
  }
  said(): unknown[] {
    return this.sent.filter((each) => typeof each === "string").map((text) => JSON.parse(text) as unknown);
  }
}

interface Given {
  server?: string;
  lastOffset?: number;
  output?: (bytes: Uint8Array) => void | Promise<void>;
  message?: (message: TerminalMessage) => void;
}

function attach({ server = "http://fleet.example", output = () => {}, ...given }: Given = {}) {
  const socket = new HandSocket();
  const asked: string[][] = [];
  let ends = 0;
  const terminal = attachTerminal(
    server,
    { websocket_url: "/api/v1/terminal", ticket: "t1" },
    {
      ...given,
      output,
      connect(...target) {
        asked.push(target);
        return socket as never;
      },
      ended: () => void (ends += 1),
    },
  );
  return { socket, terminal, asked, ends: () => ends };
}

const opened = { type: "opened", offset: 0 };
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test.each([
  ["http://a.example:4748", "ws://a.example:4748/api/v1/terminal"],
  ["https://a.example//", "wss://a.example/api/v1/terminal"],
])("the terminal of a server at %s is at %s, in bytes", (server, url) => {
  const { asked, socket } = attach({ server });
  expect(asked).toEqual([[url, "fleetwright.terminal.v1"]]);
  expect(socket.binaryType).toBe("arraybuffer");
});

test.each([
  [undefined, { type: "attach", ticket: "t1" }],
  [0, { type: "attach", ticket: "t1", last_offset: 0 }],
  [7, { type: "attach", ticket: "t1", last_offset: 7 }],
])("who saw %j bytes before says so, with the ticket, when the socket is open", (lastOffset, said) => {
  const { socket, terminal } = attach(lastOffset === undefined ? {} : { lastOffset });
  expect(socket.sent).toEqual([]);
  socket.open();
  expect(socket.said()).toEqual([said]);
  expect(terminal.offset).toBe(lastOffset ?? 0);
});

test("of the sizes asked for before the terminal is attached to the last is sent then, and later ones at once", () => {
  const { socket, terminal } = attach();
  terminal.resize(80, 24);
  terminal.resize(100, 30);
  socket.open();
  expect(socket.said()).toHaveLength(1);
  socket.say(opened);
  expect(socket.said().slice(1)).toEqual([{ type: "resize", cols: 100, rows: 30 }]);
  terminal.resize(90, 20);
  expect(socket.said().slice(2)).toEqual([{ type: "resize", cols: 90, rows: 20 }]);
});

test("who asks for no size sends none", () => {
  const { socket } = attach();
  socket.open();
  socket.say(opened);
  expect(socket.said()).toEqual([{ type: "attach", ticket: "t1" }]);
});

test("what is typed goes in pieces of 64 KiB, three of them at most on the way, and the rest as they are taken", () => {
  const { socket, terminal } = attach();
  const piece = 65_536;
  terminal.type(new Uint8Array(3 * piece + 10));
  socket.open();
  expect(socket.pieces()).toEqual([]);
  socket.say(opened);
  expect(socket.pieces()).toEqual([piece, piece, piece]);
  terminal.type(new Uint8Array(5));
  socket.say({ type: "taken", offset: 9 });
  expect(socket.pieces()).toEqual([piece, piece, piece]);
  socket.say({ type: "taken", offset: 10 });
  expect(socket.pieces()).toEqual([piece, piece, piece, 10]);
  socket.say({ type: "taken", offset: 15 });
  expect(socket.pieces()).toEqual([piece, piece, piece, 10, 5]);
});

test("input that was typed before a break and still waits at the server leaves less room", () => {
  const { socket, terminal } = attach();
  socket.open();
  socket.say(opened);
  socket.say({ type: "taken", offset: -100_000 });
  terminal.type(new Uint8Array(131_072));
  expect(socket.pieces()).toEqual([65_536]);
  socket.say({ type: "taken", offset: 0 });
  expect(socket.pieces()).toEqual([65_536, 65_536]);
});

test("bytes are handed over one after the other, and acknowledged when they were taken", async () => {
  const taken: string[] = [];
  let release = (): void => {};
  const { socket, terminal } = attach({
    output(bytes) {
      taken.push(new TextDecoder().decode(bytes));
      return new Promise((resolve) => (release = resolve));
    },
  });
  socket.open();
  socket.say({ ...opened, offset: 40 });
  socket.show("abc");
  socket.show("de");
  await settled();
  expect([taken, terminal.offset]).toEqual([["abc"], 40]);
  release();
  await settled();
  expect([taken, terminal.offset]).toEqual([["abc", "de"], 43]);
  expect(socket.said().slice(1)).toEqual([{ type: "ack", offset: 43 }]);
  release();
  await settled();
  expect(socket.said().slice(2)).toEqual([{ type: "ack", offset: 45 }]);
  expect(terminal.offset).toBe(45);
});

test("messages are heard in one order with the output, the end after all of it and once", async () => {
  const heard: string[] = [];
  const { socket, ends } = attach({
    output: (bytes) => void heard.push(new TextDecoder().decode(bytes)),
    message: ({ type }) => void heard.push(type),
  });
  socket.open();
  socket.say(opened);
  socket.show("out");
  socket.say({ type: "exit", exit_code: 0 });
  socket.end();
  expect(ends()).toBe(0);
  await settled();
  expect([heard, ends()]).toEqual([["opened", "out", "exit"], 1]);
});

test("what the server took is no message, and no other offset than that of `opened` is the place in the output", async () => {
  const heard: string[] = [];
  const { socket, terminal } = attach({ message: ({ type }) => void heard.push(type) });
  socket.open();
  socket.say({ ...opened, offset: 5 });
  socket.say({ type: "taken", offset: 9 });
  socket.say({ type: "resized", cols: 1, rows: 1, offset: 77 });
  await settled();
  expect([heard, terminal.offset]).toEqual([["opened", "resized"], 5]);
});

test("who fails at a message leaves, and is handed nothing more", async () => {
  let calls = 0;
  const { socket } = attach({
    output: () => void (calls += 1),
    message() {
      throw new Error("The page is gone.");
    },
  });
  socket.open();
  socket.say(opened);
  socket.show("out");
  await settled();
  expect([socket.closed, calls]).toEqual([1000, 0]);
  expect(socket.said()).toHaveLength(1);
});

test("nothing is sent over a socket that is over, and who leaves closes it as one does", () => {
  const { socket, terminal } = attach();
  socket.open();
  socket.say(opened);
  terminal.leave();
  expect(socket.closed).toBe(1000);
  socket.readyState = 2;
  terminal.type(new Uint8Array(3));
  terminal.resize(1, 1);
  expect(socket.sent).toHaveLength(1);
});
