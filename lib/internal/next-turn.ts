/** Lets the event loop go round once, so that whoever waits is served in the middle of something long. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
