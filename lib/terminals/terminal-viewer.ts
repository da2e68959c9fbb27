/** Somebody who sees a terminal. */
export interface TerminalViewer {
  /** Whether it is the one who types. */
  readonly types: boolean;
  /** Place up to which all was seen. */
  readonly seen: number;
  /** There is more to show. */
  show(): void;
  /** Of all that was ever typed, so many bytes have been taken. */
  inputTaken(through: number): void;
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
