import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { EventCorrelator, type EventDraft } from './event-correlator.ts';

const draft = (change: Partial<EventDraft> = {}): EventDraft => ({
  type: 'Normal',
  reason: 'Synced',
  message: 'Foo synced successfully',
  component: 'sample-controller',
  host: '',
  recordedAtMs: 0,
  involvedObject: { apiVersion: 'v1', kind: 'Pod', name: 'web', namespace: 'default', uid: 'u1' },
  ...change,
});

/** Correlates an event and writes it as a client would. */
function write(correlator: EventCorrelator, event: EventDraft): string {
  const result = correlator.correlate(event);
  if (result.type === 'skip') return 'skip';
  result.onWritten({ name: 'written', namespace: 'default' });
  return result.type === 'create' ? `create ${result.message}` : `count ${result.count} ${result.message}`;
}

describe('EventCorrelator', () => {
  it('takes members that are undefined for absent', () => {
    const absent = { clock: undefined, cacheSize: undefined, maxSimilar: undefined, spamKey: undefined } as never;
    expect(write(new EventCorrelator(absent), draft())).toEqual(write(new EventCorrelator(), draft()));
  });

  it('creates the first event and counts the equal ones that follow into it', () => {
    const correlator = new EventCorrelator({ clock: new VirtualClock() });
    expect([1, 2, 3].map(() => write(correlator, draft()))).toEqual([
      'create Foo synced successfully',
      'count 2 Foo synced successfully',
      'count 3 Foo synced successfully',
    ]);
  });

  it('keeps events of other objects, reasons and field paths apart', () => {
    const correlator = new EventCorrelator({ clock: new VirtualClock() });
    const { involvedObject } = draft();
    const drafts = [
      draft(),
      draft({ reason: 'Other' }),
      draft({ type: 'Warning' }),
      draft({ involvedObject: { ...involvedObject, uid: 'u2' } }),
      draft({ involvedObject: { ...involvedObject, fieldPath: 'spec.containers{web}' } }),
    ];
    for (const event of drafts) expect(write(correlator, event)).toBe('create Foo synced successfully');
  });

  it('takes different messages of one reason for similar, and counts similar ones of each reason apart', () => {
    const correlator = new EventCorrelator({ clock: new VirtualClock(), maxSimilar: 2 });
    const about = (reason: string, message: string) => write(correlator, draft({ reason, message }));
    expect(about('end-of-world', 'it was fun')).toBe('create it was fun');
    expect(about('nevermind', 'it was a bug')).toBe('create it was a bug');
    expect(about('end-of-world', 'it was awful')).toBe('create (combined from similar events): it was awful');
    expect(about('nevermind', 'it was a bug')).toBe('count 2 it was a bug');
  });

  it('combines the tenth distinct message within ten minutes and all later ones', () => {
    const correlator = new EventCorrelator({ clock: new VirtualClock() });
    const written = Array.from({ length: 12 }, (_, i) => write(correlator, draft({ message: `m${i}` })));
    expect(written.slice(0, 9)).toEqual(Array.from({ length: 9 }, (_, i) => `create m${i}`));
    expect(written.slice(9)).toEqual([
      'create (combined from similar events): m9',
      'count 2 (combined from similar events): m10',
      'count 3 (combined from similar events): m11',
    ]);
  });

  it('counts messages anew after ten minutes without a similar one', async () => {
    const clock = new VirtualClock();
    const correlator = new EventCorrelator({ clock });
    for (let i = 0; i < 9; i++) write(correlator, draft({ message: `m${i}` }));
    await clock.advance(600_001);
    expect(write(correlator, draft({ message: 'm9' }))).toBe('create m9');
  });

  it('lets a burst of 25 per source and object through, then one per 300 s, and counts what it skips', async () => {
    const clock = new VirtualClock();
    const correlator = new EventCorrelator({ clock });
    const written = Array.from({ length: 27 }, () => write(correlator, draft()));
    expect(written.filter((line) => line === 'skip')).toHaveLength(2);
    await clock.advance(300_000);
    expect(write(correlator, draft())).toBe('count 28 Foo synced successfully');
    expect(write(correlator, draft())).toBe('skip');
  });

  it('gives each source, object and type a burst of its own, whatever the reasons', () => {
    const correlator = new EventCorrelator({ clock: new VirtualClock() });
    const written = (change: (i: number) => Partial<EventDraft>): number =>
      Array.from({ length: 30 }, (_, i) => write(correlator, draft(change(i)))).filter((line) => line !== 'skip')
        .length;
    expect(written((i) => ({ reason: `Reason${i}` }))).toBe(25);
    expect(written((i) => ({ reason: `Reason${i}`, type: 'Warning' }))).toBe(25);
    expect(written((i) => ({ reason: `Reason${i}`, component: 'other' }))).toBe(25);
    const { involvedObject } = draft();
    expect(written((i) => ({ reason: `Reason${i}`, involvedObject: { ...involvedObject, name: 'db' } }))).toBe(25);
    expect(written(() => ({}))).toBe(0);
  });

  it('counts a burst by what it is told to', () => {
    const spamKey = ({ reason }: EventDraft): string => reason;
    const correlator = new EventCorrelator({ clock: new VirtualClock(), spamBurst: 1, spamKey });
    expect(write(correlator, draft({ reason: 'a' }))).toBe('create Foo synced successfully');
    expect(write(correlator, draft({ reason: 'a', component: 'other' }))).toBe('skip');
    expect(write(correlator, draft({ reason: 'b' }))).toBe('create Foo synced successfully');
  });

  it('combines what differs in its message alone: not what is about another container', () => {
    const correlator = new EventCorrelator({ clock: new VirtualClock(), spamBurst: 100 });
    const { involvedObject } = draft();
    const about = (container: string, message: string): string =>
      write(correlator, draft({ message, involvedObject: { ...involvedObject, fieldPath: container } }));
    for (let i = 0; i < 8; i++) about('a', 'same');
    for (let i = 0; i < 8; i++) about('b', 'same');
    expect([about('a', 'same'), about('b', 'same'), about('c', 'other')]).toEqual([
      'count 9 same',
      'count 9 same',
      'create other',
    ]);
  });

  it('goes on counting an equal event into one, however often it comes', () => {
    const correlator = new EventCorrelator({ clock: new VirtualClock(), spamBurst: 100 });
    const written = Array.from({ length: 30 }, () => write(correlator, draft()));
    expect(written.at(-1)).toBe('count 30 Foo synced successfully');
  });

  it('I5: remembers a bounded number of keys', () => {
    const correlator = new EventCorrelator({ clock: new VirtualClock(), cacheSize: 2 });
    const of = (name: string) => draft({ involvedObject: { ...draft().involvedObject, name } });
    for (const name of ['a', 'b', 'c']) write(correlator, of(name));
    expect(write(correlator, of('c'))).toBe('count 2 Foo synced successfully');
    expect(write(correlator, of('a')), 'a was forgotten').toBe('create Foo synced successfully');
  });
});
