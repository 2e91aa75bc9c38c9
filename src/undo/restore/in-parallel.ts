/** Does work on each item, up to `width` at a time. Ends with the first error, once the work under way has ended. */
export async function inParallel<T>(
  items: AsyncIterable<T> | Iterable<T>,
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const errors: unknown[] = [];
  for await (const item of items) {
    if (errors.length > 0) break;
    const one: Promise<void> = work(item)
      .catch((error: unknown) => void errors.push(error))
      .finally(() => running.delete(one));
    running.add(one);
    if (running.size >= width) await Promise.race(running);
  }
  await Promise.all(running);
  if (errors.length > 0) throw errors[0];
}
