import './testing/fixture.ts';
