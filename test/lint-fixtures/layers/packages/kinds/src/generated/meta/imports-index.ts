import '../../index.ts';
