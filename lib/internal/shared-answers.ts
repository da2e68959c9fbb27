/** One answer for all who ask for the same. */

/** Calls that are under way, by key: whoever asks for the same meanwhile gets the same answer. */
export class SharedCalls<Answer> {
  readonly #calls = new Map<string, Promise<Answer>>();

  /** Calls, unless a call of this key is under way: then that one's answer, or failure, is everybody's. */
  get(key: string, call: () => Promise<Answer>): Promise<Answer> {
    const known = this.#calls.get(key);
    if (known !== undefined) return known;
    const answer = call().finally(() => this.#calls.delete(key));
    this.#calls.set(key, answer);
    return answer;
  }
}

/** What is read once and stays as it was then, by key: whoever asks for the same gets the same answer. What failed is read again. */
export class KeptReads<Answer> {
  readonly #answers = new Map<string, Promise<Answer>>();

  /** Reads, unless it was read before or is being read. */
  get(key: string, read: () => Promise<Answer>): Promise<Answer> {
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const answer = read();
    this.#answers.set(key, answer);
    answer.catch(() => this.#answers.delete(key));
    return answer;
  }
}
