    const renewal = within(Math.min(lease, RENEWAL_LIMIT_MS), grant.lease.renew(lease), this.#context.clock);
    // When this process revokes the lock, the answer does not matter, and may never come.
    const over = new Promise<"unknown">((resolve) => phase.cancel = () => resolve("unknown"));
    return phase.claiming = Promise.race([renewal, over]).then(settle, () => settle("unknown"));
  }

  /** Gives the lock to a handle, whose attempt was made at `calledAt`. */
  #hold(grant: Grant, handle: Handle, calledAt: Instant, now: Instant): Attempt {
    const { store } = this.#context;
    this.#queue.delete(handle.id);
    this.#held.set(handle.id, grant);
    if (this.#context.watches && this.#keeps) this.#watchRevocation(grant);
    const { fence } = grant.hold(handle, now);
    if (handle.id !== grant.id) {
      if (handle.place === "none" && handle.unanswered === 0) store.forget?.(handle.claim);
      else this.#leaveStore(handle);
    }
    this.#watch(now);
    return { granted: true, fence, age: ageOf(grant, calledAt) };
  }

  /** Gives the place of a handle in the store's queue back, in the background. */
  #leaveStore(handle: Handle): void {
    const { store, clock, track, leaving } = this.#context;
    const release = () => releaseWithRetry(store, handle.claim, clock);
    const left = handle.answered().then(release).catch(() => {}).then(() => void leaving.delete(handle.id));
    leaving.set(handle.id, left);
    track(left);
  }

  /** Grants the lock again to a handle that holds it: a reply was lost on its way to the caller. */
  async #again(grant: Grant, claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const { holding, lease } = grant;
    if (holding !== undefined && !lease.over) {
      const calledAt = this.#context.clock.now();
      // Never shorter: the first attempt may have been answered.
      const renewal = await lease.renew(Math.max(claim.lease, Math.ceil(lease.endsIn(calledAt))));
      if (renewal === "renewed" && grant.holding?.handle === holding.handle) {
        return { granted: true, fence: grant.holding.fence, age: ageOf(grant, calledAt) };
      }
      if (renewal === "lost") this.#lost(grant);
    }
    this.#tidy();
    return await this.#context.store.attempt(claim, options);
  }

  /** Releases for a handle that holds the lock under a grant: the lock goes to the next one, lingers or goes back. */
  #release(grant: Grant, id: string): Promise<boolean> {
    const { clock, settings: { keep } } = this.#context;
    const { holding } = grant;
    const now = clock.now();
    if (holding?.handle.id === id) {
      holding.handle.state = "left";
      if (this.#keeps && elapsed(holding.since, now) >= keep) grant.long = this.#queue.long = true;
      if (grant === this.#grant && this.#leftOf(grant, now) > 0 && this.#pass(grant, now)) {
        this.#held.delete(id);
        return Promise.resolve(true);
      }
    }
    this.#end(grant);
    // Until the store has answered, the handle may release again.
    return grant.lease.release().then((released) => {
      this.#forget(id);
      return released;
    }, (error) => {
      // The caller does not retry for ever.
      if (!grant.abandoned) this.#context.track(grant.lease.undo().then(() => this.#forget(id)));
      grant.abandoned = true;
      throw error;
    });
  }

  /** Forgets a handle that has released the lock. */
  #forget(id: string): void {
    this.#held.delete(id);
    this.#tidy();
  }

  /** Gives the lock to the next handle, or keeps it for a while. Returns false if it must go back. */
  #pass(grant: Grant, now: Instant): boolean {
    const { settings: { keep, linger: lingers } } = this.#context;
    if (grant.lease.over || !grant.hasFences || this.#closed || this.#context.store.closed) return false;
    if (this.#keeps && elapsed(grant.since, now) >= keep) return false;
    const next = this.#successor(grant, now);
    if (next !== undefined) {
      grant.offer(next, now);
      this.#watch(now);
      return true;
    }
    if (!this.#keeps || lingers === 0) return false;
    if (this.#queue.hasBarrier) return false;
    const lingering = linger(this.#context, grant, now, (end) => {
      if (grant !== this.#grant) return;
      if (end === "lost") this.#lost(grant);
      else this.#abandon(grant);
      this.#tidy();
    });
    if (lingering !== undefined) this.#context.track(lingering);
    return true;
  }

  /** Returns the handle that is handed the lock next, if there is one. */
  #successor(grant: Grant, now: Instant): Handle | undefined {
    if (!this.#keeps) {
      const members = grant.members.filter((member) => this.#queue.mayLead(member, now));
      grant.members = members.slice(1);
      return members[0];
    }
    return this.#queue.first(now);
  }

  /** Hands on a grant that no handle holds; if nobody wants it, it goes back in the background. */
  #passOn(grant: Grant): Promise<void> {
    return this.#pass(grant, this.#context.clock.now()) ? Promise.resolve() : this.#abandon(grant);
  }

  /** Removes a handle that has stopped waiting. Resolves to whether there was anything to release. */
  #leave(handle: Handle): Promise<boolean> {
    const { store } = this.#context;
    const { claim, state, place, unanswered } = handle;
    this.#queue.delete(handle.id);
    handle.state = "left";
    const grant = this.#grant;
    if (grant !== undefined) grant.members = grant.members.filter((member) => member !== handle);
    const passed = state === "next" ? this.#passOn(grant!) : undefined;
    let released = Promise.resolve(true);
    if (place === "none" && unanswered === 0) store.forget?.(claim);
    else {
      const succeeded = unanswered === 0 && this.#succeed(handle);
      released = store.release(claim).then((released) => released || succeeded);
    }
    this.#advance();
    this.#tidy();
    return Promise.all([released, passed]).then(([released]) => released);
  }

  /** Gives the place of a handle in the store's queue to the next one here, if that has none. Returns whether it did. */
  #succeed({ claim }: Handle): boolean {
    const { store, track } = this.#context;
    if (!this.#keeps || this.#grant !== undefined || store.succeed === undefined) return false;
    const heir = this.#queue.first(this.#context.clock.now());
    // One that has asked has a place of its own.
    if (heir?.state !== "sleeping" || heir.place !== "none") return false;
    const given = () => {
      // Its release may have been executed before. If it was granted the lock, others may have that under its id.
      if (heir.state === "left" && !this.#isHandedOn(heir.id)) this.#leaveStore(heir);
    };
    track(store.succeed(claim, heir.claim).then(given, given));
    heir.place = "own";
    heir.wake("store");
    return true;
  }

  /** Ends a grant: whoever waits for it asks anew. */
  #end(grant: Grant): void {
    if (this.#grant === grant) {
      this.#clear();
      if (!grant.long) this.#queue.long = false;
    }
    wake(grant.end());
    this.#advance();
  }

  /** Ends a grant, and gives the lock back in the background, because no handle holds it, or it is not known. */
  #abandon(grant: Grant): Promise<void> {
    if (grant.phase.kind === "over") return Promise.resolve();
    this.#end(grant);
    const { track } = this.#context;
    // Only the first try is waited for.
    const released = grant.lease.release().then(() => {}, () => track(grant.lease.undo()));
    track(released);
    return released;
  }

  #watchRevocation(grant: Grant): void {
    grant.watch(this.#context.store, (by) => {
      this.#lost(grant, by);
      this.#tidy();
    });
  }

  /** Notes that the store does not have the lock of a grant. */
  #lost(grant: Grant, by?: Meta): void {
    const { holding } = grant;
    if (holding !== undefined) {
      this.#held.delete(holding.handle.id);
      holding.revoked?.(by);
    }
    // A quorum that has lost it may have it on some nodes. The handle that it was granted to releases it by itself.
    if (holding?.handle.id === grant.id) this.#end(grant);
    else void this.#abandon(grant);
  }

  /** Notes that the lease of a grant is over by the clock: its holder did not renew it. */
  #ended(grant: Grant): void {
    if (grant.holding !== undefined) this.#held.delete(grant.holding.handle.id);
    this.#end(grant);
  }

  /** Forgets what could be handed on. */
  #clear(): void {
    this.#grant = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Stops handing on. The handle that holds the lock gives it back; if there is none, that is done here. */
  #detach(): void {
    const grant = this.#grant;
    if (grant === undefined) return;
    if (grant.holding === undefined) return void this.#abandon(grant);
    this.#clear();
    wake(grant.members);
    grant.members = [];
    this.#advance();
  }

  /**
   * Returns for how long holders trust the lease of a grant, in milliseconds. It ends later in the store: those that wait
   * for it here queue there again before others are served.
   */
  #leftOf({ lease }: Grant, now: Instant): number {
    return lease.endsIn(now) - this.#context.store.drift(lease.claim.lease);
  }

  /** Sets the one timer, if anybody waits for what it finds out. */
  #watch(now: Instant): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#queue.size === 0) return;
    const { clock, settings: { keep } } = this.#context;
    const grant = this.#grant;
    if (grant === undefined) return;
    const { phase } = grant;
    let ms = Infinity;
    if (phase.kind === "next" && phase.claiming === undefined) ms = CLAIM_MS - elapsed(phase.since, now);
    else if (phase.kind === "held") {
      ms = this.#leftOf(grant, now);
      if (this.#keeps && !this.#queue.long) ms = Math.min(ms, keep - elapsed(phase.since, now));
    }
    if (ms < Infinity) this.#timer = clock.timer(Math.max(1, ms), () => this.#check(), now);
  }

  /** Looks for what nobody attempts for: a lease is over, a section or a wait is long, the next handle does not attempt. */
  #check(): void {
    this.#timer = undefined;
    const { clock, settings: { keep } } = this.#context;
    const now = clock.now();
    const grant = this.#grant;
    if (grant === undefined) return;
    const { phase } = grant;
    if (this.#leftOf(grant, now) <= 0) this.#ended(grant);
    else if (phase.kind === "next" && phase.claiming === undefined && elapsed(phase.since, now) >= CLAIM_MS) {
      phase.handle.state = "idle";
      void this.#passOn(grant);
    } else if (phase.kind === "held" && this.#keeps && elapsed(phase.since, now) >= keep) {
      grant.long = this.#queue.long = true;
      this.#advance();
    }
    this.#watch(now);
    this.#tidy();
  }
}

function wake(handles: Iterable<Handle>): void {
  for (const handle of handles) handle.wake();
}
