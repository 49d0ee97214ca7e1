import { describe, expect, it } from 'vitest';
import { TurnFlusher } from './turn-flusher.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('TurnFlusher', () => {
  it('runs what was scheduled once, in order, after the turn', async () => {
    const flusher = new TurnFlusher();
    const ran: number[] = [];
    for (let i = 0; i < 3; i++) flusher.schedule({ flush: () => ran.push(i) });
    await Promise.resolve();
    expect(ran).toEqual([]);
    await nextTurn();
    expect(ran).toEqual([0, 1, 2]);
    await nextTurn();
    expect(ran).toHaveLength(3);
  });

  it('lets the event loop turn between the flushes of many sockets', async () => {
    const flusher = new TurnFlusher();
    const ran: number[] = [];
    for (let i = 0; i < 1_000; i++) flusher.schedule({ flush: () => ran.push(i) });
    await nextTurn();
    expect(ran.length).toBeGreaterThan(0);
    expect(ran.length).toBeLessThanOrEqual(100);
    while (ran.length < 1_000) await nextTurn();
    expect(ran).toEqual(Array.from({ length: 1_000 }, (_, i) => i));
  });

  it('puts what a flush schedules behind what waits already', async () => {
    const flusher = new TurnFlusher();
    const ran: string[] = [];
    flusher.schedule({
      flush: () => {
        ran.push('first');
        flusher.schedule({ flush: () => ran.push('again') });
      },
    });
    flusher.schedule({ flush: () => ran.push('second') });
    while (ran.length < 3) await nextTurn();
    expect(ran).toEqual(['first', 'second', 'again']);
  });
});
