/** Viewers of terminals that must be refused, over a real WebSocket: what they do, and what they are told. */
import type { WebSocket } from "ws";
import type { ViewerScene } from "../support/viewer-scene.ts";

/** Sends frames when the socket is open. Resolves with what the server said last, and how it closed. */
export function refusalOf(
  socket: WebSocket,
  ...frames: (object | string | Buffer)[]
): Promise<{ code: unknown; closed: number; status?: number }> {
  return new Promise((resolve, reject) => {
    let code: unknown;
    socket.on("open", () => {
      for (const frame of frames)
        socket.send(Buffer.isBuffer(frame) || typeof frame === "string" ? frame : JSON.stringify(frame));
    });
    socket.on("message", (data, isBinary) => {
      if (isBinary) return;
      const message = JSON.parse(String(data)) as { type: string; code?: string };
      if (message.type === "refused" || message.type === "warning") code = message.code;
      if (message.type === "warning") socket.close();
    });
    socket.on("unexpected-response", (request, { statusCode }) => {
      request.destroy();
      resolve({ code, closed: 0, ...(statusCode !== undefined && { status: statusCode }) });
    });
    socket.on("close", (closed) => resolve({ code, closed }));
    socket.on("error", reject);
  });
}

type Act = (scene: ViewerScene) => Promise<Awaited<ReturnType<typeof refusalOf>>>;
const attach = (ticket: string) => ({ type: "attach", ticket });

/** After a good ticket. */
const after =
  (...frames: (object | string | Buffer)[]): Act =>
  async (scene) =>
    refusalOf(scene.connect(), attach(await scene.ticket()), ...frames);

/** What is done, and the code that it is refused with; a number is the status of the answer to the upgrade. */
export const viewers: [name: string, act: Act, refused: string | number][] = [
  ["that offers no subprotocol", ({ connect }) => refusalOf(connect({ protocol: "" })), 400],
  ["that offers another", ({ connect }) => refusalOf(connect({ protocol: "fleetwright.terminal.v9" })), 400],
  [
    "in a page of another origin",
    async (scene) =>
      refusalOf(scene.connect({ headers: { origin: "https://evil.example" } }), attach(await scene.ticket())),
    403,
  ],
  ["of a session that is no id", ({ connect }) => refusalOf(connect({ session: "..%2f" })), 404],
  [
    "with a ticket that is none",
    ({ connect }) => refusalOf(connect(), attach("ff".repeat(32))),
    "TICKET_INVALID",
  ],
  [
    "with a ticket of 10 kB",
    ({ connect }) => refusalOf(connect(), attach("f".repeat(10_000))),
    "VALIDATION_FAILED",
  ],
  [
    "with a ticket that was used",
    async (scene) => {
      const ticket = await scene.ticket();
      const first = scene.connect();
      await new Promise<void>((resolve) => {
        first.on("open", () => first.send(JSON.stringify(attach(ticket))));
        first.once("message", () => resolve());
      });
      first.close();
      return refusalOf(scene.connect(), attach(ticket));
    },
    "TICKET_INVALID",
  ],
  [
    "with a ticket that is 30 seconds old",
    async (scene) => {
      const ticket = await scene.ticket();
      await scene.terminal.test.clock.advance(30_000);
      return refusalOf(scene.connect(), attach(ticket));
    },
    "TICKET_INVALID",
  ],
  [
    "with a ticket of another session",
    async (scene) => {
      const { terminals, operator, agent } = scene.terminal;
      const other = await terminals.open(operator.caller, { node_id: agent.nodeId, shell: "/bin/sh" });
      const refused = await refusalOf(scene.connect(), attach(other.ticket));
      await terminals.close(operator.caller, { session_id: other.session_id });
      return refused;
    },
    "TICKET_INVALID",
  ],
  [
    "with the token of the operator in place of a ticket",
    ({ connect, terminal }) =>
      refusalOf(
        connect({ headers: { authorization: `Bearer ${terminal.operator.token}` } }),
        attach(terminal.operator.token),
      ),
    "TICKET_INVALID",
  ],
  [
    "with the token of another operator, and no good ticket",
    async ({ connect, terminal }) => {
      const { token } = await terminal.test.signIn("Admin", "mallory");
      return refusalOf(connect({ headers: { authorization: `Bearer ${token}` } }), attach("00".repeat(32)));
    },
    "TICKET_INVALID",
  ],
  [
    "that types before its ticket",
    ({ connect }) => refusalOf(connect(), Buffer.from("id\n")),
    "VALIDATION_FAILED",
  ],
  [
    "that resizes before its ticket",
    ({ connect }) => refusalOf(connect(), { type: "resize", cols: 80, rows: 24 }),
    "VALIDATION_FAILED",
  ],
  ["that sends no JSON", after("{"), "VALIDATION_FAILED"],
  ["that sends a list", after([1]), "VALIDATION_FAILED"],
  ["that attaches twice", after(attach("00")), "VALIDATION_FAILED"],
  ["that makes it 0 columns wide", after({ type: "resize", cols: 0, rows: 24 }), "VALIDATION_FAILED"],
  ["that makes it 10^9 rows high", after({ type: "resize", cols: 80, rows: 1e9 }), "VALIDATION_FAILED"],
  ["that makes it half a column wide", after({ type: "resize", cols: 0.5, rows: 24 }), "VALIDATION_FAILED"],
  ["that acknowledges less than nothing", after({ type: "ack", offset: -1 }), "VALIDATION_FAILED"],
  ["that types 64 KiB and a byte at once", after(Buffer.alloc(65_537, "x")), "VALIDATION_FAILED"],
  ["that types 1 MiB at once", after(Buffer.alloc(1 << 20, "x")), "VALIDATION_FAILED"],
  [
    "that types into somebody else's terminal",
    async (scene) => {
      const { terminals, test, opened } = scene.terminal;
      const { caller } = await test.signIn("Admin", "watcher");
      const { ticket } = await terminals.ticket(caller, { session_id: opened.session_id });
      return refusalOf(scene.connect(), attach(ticket), Buffer.from("echo intruder\n"));
    },
    "FORBIDDEN",
  ],
];
