/** Somebody who sees a terminal. */
export interface TerminalViewer {
  /** Whether it is the one who types. */
  readonly types: boolean;
  /** Place up to which all was seen. */
  readonly seen: number;
  /** There is more to show. */
  show(): void;
  /** What was typed has been taken: there is room for more. */
  roomForInput(): void;
  resized(cols: number, rows: number): void;
  ended(end: TerminalEnd): void;
}

/** How a terminal ended. */
export interface TerminalEnd {
  status: "closed" | "interrupted";
  /** One word. */
  reason: string;
  exitCode?: number;
  /** Bytes of output. */
  bytes: number;
  recording: "complete" | "partial" | "missing";
}
