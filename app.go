package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"afterimage/archive"
	"afterimage/fetch"
	"afterimage/generate"
	"afterimage/http"
	"afterimage/jobs"
	"afterimage/notify"
	"afterimage/records"
	"afterimage/storage"
	"afterimage/web"
)

// app is everything that runs, built in order, each part from those before it.
type app struct {
	config   Config
	log      *slog.Logger
	db       *records.DB
	store    storage.Store
	spool    *storage.Spool
	fetch    *fetch.Client
	hooks    *fetch.Client // for webhooks
	archiver *archive.Archiver
	runner   *generate.Runner
	notifier *notify.Notifier
	worker   *jobs.Worker
	presence *records.Presence
	server   *http.Server
	instance string
}

// openDatabase opens the database that the settings name and migrates it.
func openDatabase(ctx context.Context, c Config) (*records.DB, error) {
	db, err := connect(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func makeDataDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w (AFTERIMAGE_DATA_DIR)", err)
	}
	return nil
}

func connect(ctx context.Context, c Config) (*records.DB, error) {
	if err := makeDataDir(c.DataDir); err != nil {
		return nil, err
	}
	db, err := records.Open(ctx, records.Config{
		URL:   c.DatabaseURL,
		Path:  filepath.Join(c.DataDir, "afterimage.db"),
		Quota: records.Quota{ImagesPerDay: c.QuotaImages, Bytes: c.QuotaBytes},
	})
	if err != nil {
		return nil, err
	}
	if err := db.SyncClock(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// newApp builds the app on a database that is open and migrated. Nothing runs
// yet. Baseurl is the URL that people see.
func newApp(ctx context.Context, c Config, db *records.DB, baseURL string, log *slog.Logger) (*app, error) {
	a := &app{config: c, log: log, db: db, instance: records.NewID()}
	var err error
	if a.spool, err = storage.OpenSpool(filepath.Join(c.DataDir, "spool")); err != nil {
		return nil, err
	}
	if a.store, err = newStore(ctx, c); err != nil {
		return nil, err
	}
	if a.fetch, err = newFetch(c.Archive); err != nil {
		return nil, err
	}
	if a.hooks, err = newHooks(c); err != nil {
		return nil, err
	}
	providers, err := newProviders(c, a.fetch)
	if err != nil {
		return nil, err
	}
	metrics := http.NewMetrics(buildVersion())
	a.store = metrics.Store(a.store)
	a.runner = generate.New(generate.Config{
		DB: db, Store: a.store, Spool: a.spool, Fetch: a.fetch, Providers: providers, MaxBytes: c.Archive.MaxBytes, Log: log,
	})
	a.archiver = archive.New(archive.Config{
		DB: db, Store: a.store, Spool: a.spool, Fetch: a.fetch, Origins: origins(providers), Resolve: a.runner.Resolve,
		Slots: c.Archive.Concurrency, MaxAttempts: c.Archive.MaxAttempts, Delays: c.Archive.RetryDelays, Thumbnails: true, Log: log,
	})
	site, err := web.New()
	if err != nil {
		return nil, err
	}
	a.server, err = http.New(ctx, http.Config{
		DB: db, Store: a.store, Spool: a.spool, Fetch: a.fetch, Providers: providers, Site: site, Log: log,
		BaseURL: baseURL, PublicURL: publicURL(c, a.store), PrivateImages: c.ImageAccess == "login", MaxAttempts: c.Archive.MaxAttempts,
		MaxBytes: c.Archive.MaxBytes, DefaultLanguage: c.Language, CORSOrigins: c.CORSOrigins, Export: a.archiver.Export, Paused: a.archiver.Paused, Verify: a.archiver.VerifyImage,
		Watch: a.runner.Watch, Metrics: metrics, MetricsToken: c.MetricsToken,
		Watched:  http.Watched{DB: db, Spool: a.spool, Slots: func() []jobs.SlotUse { return a.worker.Slots() }, Paused: a.archiver.Paused},
		Webhooks: a.hooks, TrashRetention: c.TrashRetention, Settings: settingNotes(c, providers),
	})
	if err != nil {
		return nil, err
	}
	a.notifier = notify.New(notify.Config{DB: db, Client: a.hooks.HTTPClient(), Describe: a.server.Describe, Retention: c.TrashRetention, Log: log})
	beatEvery := beatIntervalSQLite
	if db.Postgres() {
		beatEvery = beatInterval
	}
	a.worker = jobs.New(jobs.Config{
		Beat: a.beat, BeatEvery: beatEvery,
		DB: db, InstanceID: a.instance, SpoolID: a.spool.ID(), Kinds: metrics.Kinds(a.kinds()),
		TTL: c.Archive.LockTTL, Poll: c.Archive.PollInterval, Sweep: c.Archive.SweepInterval, Log: log,
	})
	a.presence = db.NewPresence(a.worker.Instance())
	db.OnJobs(a.worker.Wake)
	db.OnChange(a.server.Changed)
	return a, nil
}

func newStore(ctx context.Context, c Config) (storage.Store, error) {
	if c.S3.Bucket == "" {
		return storage.NewDisk(filepath.Join(c.DataDir, "objects"))
	}
	return storage.NewS3(ctx, storage.S3Config{
		Bucket: c.S3.Bucket, Endpoint: c.S3.Endpoint, Region: c.S3.Region,
		AccessKeyID: c.S3.AccessKeyID, SecretAccessKey: c.S3.SecretAccessKey,
		Prefix: c.S3.Prefix, PathStyle: c.S3.PathStyle, PublicURL: c.S3.PublicURL,
	})
}

// publicURL tells where anybody can read the store without us, nil if nowhere.
func publicURL(c Config, store storage.Store) func(key string) string {
	if s3, ok := store.(*storage.S3); ok && c.S3.PublicURL != "" {
		return s3.PublicURL
	}
	return nil
}

func newFetch(c ArchiveConfig) (*fetch.Client, error) {
	rules, err := fetch.ParseAllow(c.Allow)
	if err != nil {
		return nil, fmt.Errorf("IMAGE_ARCHIVE_ALLOW: %w", err)
	}
	return fetch.New(fetch.Config{
		Allow: rules, Ports: c.Ports, CAFile: c.CAFile, Resolver: c.Resolver, Proxy: c.Proxy,
		MaxBytes: c.MaxBytes, MaxPixels: c.MaxPixels,
		Timeout: c.Timeout, StallTimeout: c.StallTimeout, MinSpeed: c.MinSpeed,
	})
}

// newHooks is the client for webhooks: the same guard, other exceptions.
func newHooks(c Config) (*fetch.Client, error) {
	rules, err := fetch.ParseAllow(c.WebhookAllow)
	if err != nil {
		return nil, fmt.Errorf("AFTERIMAGE_WEBHOOK_ALLOW: %w", err)
	}
	return fetch.New(fetch.Config{
		Allow: rules, AllowSetting: "AFTERIMAGE_WEBHOOK_ALLOW",
		CAFile: c.Archive.CAFile, Resolver: c.Archive.Resolver, Proxy: c.Archive.Proxy,
	})
}

// checkAllow has fetch read the rules, so that a mistake is reported with the
// others.
func checkAllow(c Config) (problems []Problem) {
	for _, s := range []struct{ name, value string }{
		{"IMAGE_ARCHIVE_ALLOW", c.Archive.Allow}, {"AFTERIMAGE_WEBHOOK_ALLOW", c.WebhookAllow},
	} {
		if _, err := fetch.ParseAllow(s.value); err != nil {
			problems = append(problems, settingProblem(s.name, s.value, err.Error()))
		}
	}
	return problems
}

// newProviders are those that are set up, and the demo, which always is. The
// first is the default.
func newProviders(c Config, client *fetch.Client) ([]generate.Provider, error) {
	var list []generate.Provider
	for _, p := range []struct {
		config ProviderConfig
		make   func(generate.ServerConfig) (generate.Provider, error)
	}{
		{c.OpenAI, func(s generate.ServerConfig) (generate.Provider, error) { return generate.NewOpenAI(s) }},
		{c.Replicate, func(s generate.ServerConfig) (generate.Provider, error) { return generate.NewReplicate(s) }},
		{c.DashScope, func(s generate.ServerConfig) (generate.Provider, error) { return generate.NewDashScope(s) }},
		{c.A1111, func(s generate.ServerConfig) (generate.Provider, error) { return generate.NewA1111(s) }},
	} {
		if !p.config.Enabled {
			continue
		}
		made, err := p.make(generate.ServerConfig{BaseURL: p.config.BaseURL, Key: p.config.APIKey, Models: p.config.Models,
			Client: client.HTTPClient(p.config.BaseURL), MaxBytes: c.Archive.MaxBytes})
		if err != nil {
			return nil, err
		}
		list = append(list, made)
	}
	return append(list, generate.NewDemo()), nil
}

func origins(providers []generate.Provider) map[string][]string {
	m := map[string][]string{}
	for _, p := range providers {
		m[p.Info().Name] = p.Info().Origins
	}
	return m
}

// settingNotes are what the setup page shows of the settings.
func settingNotes(c Config, providers []generate.Provider) http.SettingNotes {
	n := http.SettingNotes{Effective: effectiveSettings(c)}
	for _, p := range c.Problems {
		n.Warnings = append(n.Warnings, p.String())
	}
	addresses := map[string]web.SettingNote{
		"openai":    {Detail: c.OpenAI.BaseURL, From: "OPENAI_BASE_URL"},
		"replicate": {Detail: c.Replicate.BaseURL, From: "REPLICATE_BASE_URL"},
		"dashscope": {Detail: c.DashScope.BaseURL, From: "DASHSCOPE_BASE_URL"},
		"a1111":     {Detail: c.A1111.BaseURL, From: "A1111_URL"},
	}
	for _, p := range providers {
		note := addresses[p.Info().Name]
		note.Name = p.Info().Name
		n.Providers = append(n.Providers, note)
	}
	if c.S3.Bucket != "" {
		n.Storage = []web.SettingNote{{Name: "s3", Detail: c.S3.Bucket, From: "S3_BUCKET"}}
	} else {
		n.Storage = []web.SettingNote{{Name: "disk", Detail: filepath.Join(c.DataDir, "objects")}}
	}
	return n
}

// effectiveSettings are what `afterimage config` prints, for the page.
func effectiveSettings(c Config) []web.Setting {
	help := map[string]string{}
	for _, s := range settings() {
		help[s.name] = s.help
	}
	var list []web.Setting
	for _, s := range c.Effective {
		list = append(list, web.Setting{Section: s.section, Name: s.Name, Value: s.Value, Origin: s.Origin, Unset: s.unset, Help: help[s.Name]})
	}
	return list
}
