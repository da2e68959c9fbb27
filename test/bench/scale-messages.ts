/** What goes over a bare connection in place of a run: a command, then as many answers as an agent gives, each about as long as ours. */
export const bareCommand = Buffer.from(JSON.stringify({ type: "run", text: "x".repeat(500) }));
/** What an agent answers to a command: that it has it, and what came of it. */
export const bareAnswers = [64, 400].map((length) =>
  Buffer.from(JSON.stringify({ text: "x".repeat(length) })),
);
/** How many messages an agent answers a command with. */
export const bareMessages = bareAnswers.length;
