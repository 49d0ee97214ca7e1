import '../second/second.ts';
