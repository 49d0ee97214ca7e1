import '../../testing/src/index.ts';
