/**
 * Viewers whose terminal another process holds:
 *
 *   viewer ══ socket ══ this process ══ pipe "terminals.attach" ══ the holder ── ViewerConnection
 *
 * The ticket, the session of the operator and the address are looked at here; the holder has the terminal, its recording and its window.
 */
import { z } from "zod";
import { isStopping } from "../access/streams.ts";
import type { OpenedPipe } from "../cluster/cluster.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { parseInput } from "../internal/parse-input.ts";
import { closeCode, type FrameSocket, type SocketHandlers } from "../transport/socket.ts";
import type { LiveTerminal } from "./live-terminal.ts";
import { PipeSocket } from "./pipe-socket.ts";
import { ViewerConnection, type Attachment } from "./viewer-connection.ts";
import { mostUnreadBytes, refuseViewer } from "./viewer-messages.ts";

/** The method by which a viewer is brought to the process that holds a terminal. */
export const attachMethod = "terminals.attach";

/** Input that waits here for the holder, before no more is read. */
const mostBufferedBytes = 262_144;

const openingSchema = z.object({
  session_id: z.string(),
  types: z.boolean(),
  last_offset: z.number().optional(),
});

type Elsewhere = Omit<Attachment, "terminal"> & { holder: string; sessionId: string };

/** Brings a viewer to the holder of a terminal. Resolves with who hears of its socket from then on. */
export async function relayViewer(
  { cluster }: Pick<Context, "cluster">,
  socket: FrameSocket,
  { holder, sessionId, types, lastOffset, signal, release }: Elsewhere,
): Promise<SocketHandlers> {
  const body = { session_id: sessionId, types, ...(lastOffset !== undefined && { last_offset: lastOffset }) };
  const pipe = await cluster.open(holder, attachMethod, { body });
  const remoteSocket = new PipeSocket(pipe, () => socket.resume());
  const end = (): void => {
    signal.removeEventListener("abort", refuse);
    release();
  };
  const refuse = (): void => {
    // The terminal goes on where this process stops: the viewer is told to attach again, as where it was cut off.
    if (!isStopping(signal)) refuseViewer(socket, new OrchestratorError("UNAUTHENTICATED"));
    remoteSocket.destroy();
  };
  remoteSocket.listen({
    frame: (frame) => {
      socket.send(frame);
      // The pipe is read on: what the viewer does not read waits here.
      if (socket.bufferedBytes > mostUnreadBytes) socket.destroy();
    },
    closed: (code, reason) => {
      end();
      // A viewer that was cut off attaches again.
      if (code === cutCode) socket.close(closeCode.tryAgainLater, "UNAVAILABLE");
      else socket.close(code, reason);
    },
  });
  signal.addEventListener("abort", refuse, { once: true });
  if (signal.aborted) refuse();
  return {
    frame(frame) {
      remoteSocket.send(frame);
      if (remoteSocket.bufferedBytes > mostBufferedBytes) socket.pause();
    },
    closed() {
      end();
      remoteSocket.destroy();
    },
  };
}

/** Code of a connection that was cut without a word, as RFC 6455 numbers it. */
const cutCode = 1006;

/** Shows a terminal of this process to a viewer of another, until that one leaves or the terminal ends. */
export async function serveViewer(
  require: (sessionId: string) => LiveTerminal,
  { body, pipe }: OpenedPipe,
): Promise<void> {
  const { session_id, types, last_offset } = parseInput(openingSchema, body);
  const terminal = require(session_id);
  await new Promise<void>((resolve) => {
    const socket = new PipeSocket(pipe);
    const signal = new AbortController().signal;
    const attachment = { terminal, types, lastOffset: last_offset, signal, release: resolve };
    socket.listen(ViewerConnection.attach(socket, attachment));
  });
}
